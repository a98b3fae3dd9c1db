"""Questions to train on, each with the passages that answer it, and an order that a seed decides.

This module does not know how the questions were made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ragkit.text.analyse import comparable
from ragkit.types import Hit, Span

HOWS: Final[Mapping[str, str]] = {
    "headings": "what a section is about, asked by its heading",
    "tables": "a cell of a table",
    "numbers": "how many, how long, when",
    "definitions": "what a term is",
    "cloze": "a sentence with a gap; trained on, not proved by",
    "feedback": "users' questions whose answers got a thumbs up",
    "asked": "written by a language model",
    "labelled": "your own labelled questions",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A passage that answers a question, and the span in it that does.

    `is_exact` says that the span itself is labelled, not only its document.
    """

    passage: Hit
    span: Span
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its labels; `group` names what several questions share, "" for nothing.

    A question without places is one that the documents do not answer. `grades` are of documents by
    URI; `answers` are short texts that answer; `answer` is a whole one, whose markers count the
    places from [1], "" where none is known.
    """

    text: str
    places: tuple[Place, ...]
    how: str
    language: str = ""
    group: str = ""
    answers: tuple[str, ...] = ()
    grades: Mapping[str, int] = field(default_factory=dict)
    answer: str = ""

    @property
    def id(self) -> str:
        """Return a hash of the question, its first passage's text and place, and its answer."""
        first = self.places[0].passage if self.places else None
        where = (first.text, first.start) if first else ("", 0)
        return digest(self.text, *where, *([self.answer] if self.answer else []))[:12]

    @property
    def uris(self) -> tuple[str, ...]:
        """Return the documents that answer, those of the passages first."""
        graded = (uri for uri, grade in self.grades.items() if grade > 0)
        return tuple(dict.fromkeys([*(place.passage.uri for place in self.places), *graded]))


def drawn(seed: int, *names: object) -> str:
    """Return a sort key for an order that looks random and is the same everywhere."""
    return digest(seed, *names)


def drawn_share(seed: int, *names: object) -> float:
    """Return a number from 0 up to 1 that looks random and is the same everywhere.

    >>> round(drawn_share(0, "a.md"), 4)
    0.764
    """
    return int(drawn(seed, *names)[:12], 16) / 16**12


def digest(*names: object) -> str:
    """Return the sha256 of some values, in hex."""
    text = "\0".join(map(str, names))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def folded(text: str) -> str:
    """Return a text as texts are compared: without case, width and differences of white space.

    >>> folded("Ｈow  long?\\n")
    'how long?'
    """
    return " ".join(comparable(text).split())
