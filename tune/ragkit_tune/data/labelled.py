"""Read a labelled set in ragkit's format, and find the passages that its labels mean.

    {"id": "7", "question": "...", "answers": ["..."], "relevant": {"URI": 1}, "group": "...",
     "spans": [{"document": "URI", "start": 10, "end": 42, "text": "..."}]}

A question whose documents are graded, without spans, is answered by the passage of each document
that ragkit's own search finds first for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from ragkit.errors import UsageError
from ragkit.text.language import language
from ragkit.text.markers import MARKER
from ragkit.types import Document, Hit, Span
from ragkit_tune.data.data_set import check_fields, read_objects
from ragkit_tune.data.questions import Place, Question
from ragkit_tune.data.sources import Sources

FIELDS: Final = (
    *("id", "question", "answers", "references", "answerable", "relevant", "spans", "group"),
    "tags",
)
MAX_GRADED: Final = 20  # documents of a question that are trained on; arbitrary

GONE: Final = "its document is not in the collection"
CHANGED: Final = "its document changed since it was labelled"
SPLIT_UP: Final = "no passage holds its answer"
UNANSWERABLE: Final = "the documents do not answer it"
UNLABELLED: Final = "no document or span is labelled"
UNASKED: Final = "its question is blank"

_TYPE_NAMES: Final[Mapping[type, str]] = {list: "a list", dict: "an object", str: "a text"}
T = TypeVar("T", list[Any], dict[str, Any], str)
BestPassage = Callable[[str, Document], Hit | None]


@dataclass(frozen=True, slots=True)
class Label:
    """A line of a labelled set; `spans` are document, start, end and text."""

    where: str
    question: str
    answers: tuple[str, ...]
    answerable: bool
    grades: Mapping[str, int]
    spans: tuple[tuple[str, int, int, str], ...]
    group: str
    tags: Mapping[str, str]


def read_labels(path: Path) -> list[Label]:
    """Read a labelled set strictly. Raises NotFoundError, and UsageError naming FILE:LINE."""
    if path.is_dir() or path.suffix != ".jsonl":
        raise UsageError(
            f"{path} is no labelled set of ragkit's own format: name a .jsonl file; read another"
            " format with ragkit_eval.sets.read_set and write it with write_set"
        )
    labels = [_read_label(where, values) for where, values in read_objects(path)]
    if not labels:
        raise UsageError(f"{path}: the set is empty: it needs a question at least")
    return labels


def resolve(
    labels: Sequence[Label],
    sources: Sources,
    best_passage: BestPassage,
    left_out: Counter[str],
    *,
    how: Callable[[Label], str] = lambda label: "labelled",
) -> list[Question]:
    """Find each label's passages, and count in `left_out` why a question or passage has none."""
    questions = []
    for label in labels:
        reasons: list[str] = []
        places = tuple(_find_places(label, sources, best_passage, reasons))
        if places:
            # A span that no passage holds leaves its question the others.
            questions.append(_make_question(label, places, sources, how(label)))
        else:
            left_out[(reasons or [UNLABELLED])[0]] += 1
    return questions


def label_line(question: Question, group: str) -> dict[str, Any]:
    """Return a question as a line of a labelled set, without what is empty."""
    line = {
        "id": question.id,
        "question": question.text,
        "answers": list(question.answers),
        "references": [MARKER.sub("", question.answer).strip()] if question.answer else [],
        "relevant": dict(question.grades) or dict.fromkeys(question.uris, 1),
        "spans": [
            {
                "document": place.passage.uri,
                "start": place.span.start,
                "end": place.span.end,
            }
            for place in question.places
            if place.is_exact
        ],
        "group": group,
        "tags": {"how": question.how, "language": question.language},
    }
    filled = {key: value for key, value in line.items() if value}
    return filled | {"answerable": bool(question.places)}


def _find_places(
    label: Label, sources: Sources, best_passage: BestPassage, reasons: list[str]
) -> list[Place]:
    if not label.question.strip() or not label.answerable:
        reasons.append(UNANSWERABLE if label.question.strip() else UNASKED)
        return []
    places: dict[int, Place] = {}
    for name, start, end, text in label.spans:
        document = _find_document(name, sources, label.where)
        source = sources.read(document) if document else None
        if source is None:
            reasons.append(GONE)
        elif end > len(source.text) or text not in ("", source.text[start:end]):
            reasons.append(CHANGED)
        elif (passage := source.holding(Span(start, end))) is None:
            reasons.append(SPLIT_UP)
        else:
            places.setdefault(passage.chunk, Place(passage, Span(start, end)))
    if label.spans:
        return list(places.values())
    graded = [name for name, grade in label.grades.items() if grade > 0]
    for name in sorted(graded, key=lambda name: -label.grades[name])[:MAX_GRADED]:
        document = _find_document(name, sources, label.where)
        if document is None:
            reasons.append(GONE)
        elif (passage := best_passage(label.question, document)) is None:
            reasons.append(SPLIT_UP)
        else:
            span = Span(passage.start, passage.end)
            places.setdefault(passage.chunk, Place(passage, span, is_exact=False))
    return list(places.values())


def _make_question(label: Label, places: tuple[Place, ...], sources: Sources, how: str) -> Question:
    # A set that `ragkit eval testset` made has each document as a group: that says nothing more.
    group = label.group if not _is_document(label, sources) else ""
    grades = {}
    for name, grade in label.grades.items():
        document = _find_document(name, sources, label.where)
        if document is not None:
            grades[document.uri] = grade
    detected = (
        language(label.question)
        or label.tags.get("language", "")
        or language(places[0].passage.text)
    )
    return Question(label.question, places, how, detected, group, label.answers, grades)


def _is_document(label: Label, sources: Sources) -> bool:
    names = {name for name, *_ in label.spans} | set(label.grades)
    return label.group in names or bool(label.group and sources.named(label.group))


def _find_document(name: str, sources: Sources, where: str) -> Document | None:
    documents = sources.named(name)
    if len(documents) > 1:
        listed = ", ".join(repr(document.uri) for document in documents[:3])
        raise UsageError(
            f"{where}: {name!r} may be {listed} in collection {sources.collection!r}: write more"
            " of its URI"
        )
    return documents[0] if documents else None


def _read_label(where: str, values: Mapping[str, Any]) -> Label:
    check_fields(values, FIELDS, where)
    if not isinstance(values.get("question"), str):
        raise UsageError(f"{where}: 'question' must be a text")
    answers = _typed(values, "answers", list, where)
    if not all(isinstance(answer, str) for answer in answers):
        raise UsageError(f"{where}: each of 'answers' must be a text")
    grades = _typed(values, "relevant", dict, where)
    for name, grade in grades.items():
        if type(grade) is not int or grade < 0:
            raise UsageError(f"{where}: the grade of {name!r} is {grade!r}: write 0 or more")
    tags = _typed(values, "tags", dict, where)
    answerable = values.get("answerable")
    if answerable is None:
        # An empty list means that there is no answer; an absent list means nothing.
        answerable = bool(answers) or values.get("answers") is None
    if not isinstance(answerable, bool):
        raise UsageError(f"{where}: 'answerable' must be true or false")
    return Label(
        where,
        values["question"],
        tuple(answer for answer in answers if answer.strip()),
        answerable,
        grades,
        tuple(_read_span(span, where) for span in _typed(values, "spans", list, where)),
        _typed(values, "group", str, where),
        {name: str(value) for name, value in tags.items()},
    )


def _read_span(value: object, where: str) -> tuple[str, int, int, str]:
    if not isinstance(value, dict) or value.keys() - {"document", "start", "end", "text"}:
        raise UsageError(f"{where}: a span has document, start, end and perhaps text: correct it")
    document, start, end = (value.get(name) for name in ("document", "start", "end"))
    text = value.get("text") or ""
    if not isinstance(document, str) or not isinstance(text, str):
        raise UsageError(f"{where}: a span's document and text must be texts")
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise UsageError(
            f"{where}: the span {start!r}-{end!r} of {document!r} holds nothing: 'end' is after"
            " 'start', both count from 0"
        )
    return document, start, end, text


def _typed(values: Mapping[str, Any], name: str, kind: type[T], where: str) -> T:
    value = values.get(name)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise UsageError(f"{where}: {name!r} must be {_TYPE_NAMES[kind]}")
    return value
