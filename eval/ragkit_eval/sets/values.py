"""What a labelled set is: documents by name, and questions with what is known of their answers.

Plain values; they know nothing of files and of systems. What a set does not label is empty.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A place that answers: `start:end` are code points of the document's text.

    `text` is what the labels say stands there; "" where they do not say.
    """

    document: str
    start: int
    end: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is known of its answer; what a set does not label is empty.

    `relevant` grades documents, `answers` are accepted answer strings, `excerpts` are places, and
    `references` are whole answers as people wrote them, where a set has them besides. `answerable`
    is None where nobody said. `group` names what several questions share, so that they are not
    independent. `where` is the file and line that errors name, and no part of its value.
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
        """Return its group; without one the only document it is about, else its own id."""
        about = {name for name, grade in self.relevant.items() if grade > 0}
        about |= {excerpt.document for excerpt in self.excerpts}
        return self.group or (about.pop() if len(about) == 1 else self.id)

    @property
    def expected(self) -> tuple[str, ...]:
        """Return what an answer is compared with: references, else answers, else excerpts."""
        places = tuple(dict.fromkeys(excerpt.text for excerpt in self.excerpts if excerpt.text))
        return self.references or self.answers or places

    def as_json(self) -> dict[str, Any]:
        """Return ragkit's own format of it, without what is empty."""
        values: dict[str, Any] = {
            "id": self.id,
            "question": self.text,
            "answers": list(self.answers),
            "references": list(self.references),
            "relevant": dict(self.relevant),
            "spans": [_place(excerpt) for excerpt in self.excerpts],
            "group": self.group,
            "tags": dict(self.tags),
        }
        kept = {name: value for name, value in values.items() if value}
        return kept if self.answerable is None else kept | {"answerable": self.answerable}


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Documents by name, and questions about them.

    Without documents the questions are about those of some collection.
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

        Everybody draws the same, and a larger draw holds the smaller one.
        """
        if limit is None or limit >= len(self.questions):
            return self
        drawn = sorted(self.questions, key=lambda question: _digest(question.id))[:limit]
        ids = {question.id for question in drawn}
        return replace(self, questions=tuple(q for q in self.questions if q.id in ids))


def _place(excerpt: Excerpt) -> dict[str, Any]:
    place = {"document": excerpt.document, "start": excerpt.start, "end": excerpt.end}
    return place | {"text": excerpt.text} if excerpt.text else place


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _dumps(value: object) -> str:
    return json.dumps(value, sort_keys=True)  # ASCII alone: whatever a text holds can be encoded
