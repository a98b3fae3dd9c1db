"""Define the values of a labelled set: documents, questions and excerpts."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A span that answers: `start:end` are code points of the document's text.

    `text` is the labelled text of the span; "" without one.
    """

    document: str
    start: int
    end: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its labels; absent labels are empty.

    `relevant` grades documents, `answers` are accepted answer strings, `excerpts` are spans, and
    `references` are entire answers written by people. `answerable` is None without a label. `group`
    names what several questions share, so that they are not independent. `where` is the file and
    line that errors name, and is not compared.
    """

    id: str
    text: str
    relevant: Mapping[str, int] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    references: tuple[str, ...] = ()
    answerable: bool | None = None
    group: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    where: str = field(default="", compare=False, repr=False)

    @property
    def cluster(self) -> str:
        """Return the group; without one the only document of the labels, else the id."""
        documents = {name for name, grade in self.relevant.items() if grade > 0}
        documents |= {excerpt.document for excerpt in self.excerpts}
        return self.group or (documents.pop() if len(documents) == 1 else self.id)

    @property
    def expected(self) -> tuple[str, ...]:
        """Return the references, else answers, else excerpts, which an answer is compared with."""
        places = tuple(dict.fromkeys(excerpt.text for excerpt in self.excerpts if excerpt.text))
        return self.references or self.answers or places

    def as_json(self) -> dict[str, Any]:
        """Return the question in ragkit's format, without empty fields."""
        values: dict[str, Any] = {
            "id": self.id,
            "question": self.text,
            "answers": list(self.answers),
            "references": list(self.references),
            "relevant": dict(self.relevant),
            "spans": [_span_json(excerpt) for excerpt in self.excerpts],
            "group": self.group,
            "tags": dict(self.tags),
        }
        present = {name: value for name, value in values.items() if value}
        return present if self.answerable is None else present | {"answerable": self.answerable}


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Documents by name, and questions about them.

    Without documents the questions are about a collection's.
    """

    name: str
    documents: Mapping[str, str]
    questions: tuple[Question, ...]

    @property
    def data_hash(self) -> str:
        """Return 16 hex digits of the sha256 of questions, labels and documents, in any order."""
        parts = sorted(_dumps(question.as_json()) for question in self.questions)
        parts += sorted(_dumps([name, text]) for name, text in self.documents.items())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def limited(self, limit: int | None) -> Self:
        """Return at most `limit` of its questions, drawn by the hash of their ids, in their order.

        The draw is the same everywhere, and a larger draw includes a smaller one.
        """
        if limit is None or limit >= len(self.questions):
            return self
        drawn = sorted(self.questions, key=lambda question: _digest(question.id))[:limit]
        ids = {question.id for question in drawn}
        return replace(self, questions=tuple(q for q in self.questions if q.id in ids))


def _span_json(excerpt: Excerpt) -> dict[str, Any]:
    place = {"document": excerpt.document, "start": excerpt.start, "end": excerpt.end}
    return place | {"text": excerpt.text} if excerpt.text else place


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _dumps(value: object) -> str:
    return json.dumps(value, sort_keys=True)  # ASCII encodes any text
