"""Read and write ragkit's format of labelled sets: JSON lines, of which "question" is required.

    {"id": "7", "question": "...", "answers": ["..."], "answerable": true, "relevant": {"URI": 1},
     "spans": [{"document": "URI", "start": 10, "end": 42, "text": "..."}], "group": "...",
     "tags": {"language": "en"}, "references": ["..."]}

The documents are those of a collection; `rag.labels` checks that they exist.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragkit.errors import UsageError
from ragkit_eval.run.files import write_whole
from ragkit_eval.sets.fields import (
    an_object,
    field,
    json_lines,
    only,
    optional,
    texts,
    typed,
)
from ragkit_eval.sets.values import Excerpt, LabelledSet, Question

FIELDS = (
    "id",
    "question",
    "answers",
    "references",
    "answerable",
    "relevant",
    "spans",
    "group",
    "tags",
)


def ragkit_lines(path: Path, name: str) -> LabelledSet:
    """Read a set in ragkit's format; see the module.

    `"answerable": false` or `"answers": []` says that the documents do not answer. A question
    without an id gets a hash of its text. Raises NotFoundError, and UsageError naming the line.
    """
    questions = [_read_question(values, where) for where, values in json_lines(path)]
    check_questions(questions, str(path))
    return LabelledSet(name, {}, tuple(questions))


def write_set(labelled: LabelledSet, path: Path) -> None:
    """Write the questions in ragkit's format, atomically.

    The documents are not written. Raises UsageError when the file cannot be created.
    """
    lines = [
        json.dumps(question.as_json(), ensure_ascii=False) + "\n" for question in labelled.questions
    ]
    write_whole(path, "".join(lines))


def check_questions(questions: Sequence[Question], place: str) -> None:
    """Raise UsageError for an empty set and for an id of two questions."""
    if not questions:
        raise UsageError(f"{place}: the set is empty: it needs a question at least")
    places: dict[str, str] = {}
    for question in questions:
        previous = places.setdefault(question.id, question.where)
        if previous is not question.where:
            raise UsageError(
                f"{question.where}: the id {question.id!r} is {previous}'s already: give each"
                " question an id of its own"
            )


def check_place(excerpt: Excerpt, text: str, where: str) -> None:
    """Raise UsageError for a span outside of its document, or with another text."""
    span = f"the span {excerpt.start}-{excerpt.end} of {excerpt.document!r}"
    if excerpt.end > len(text):
        raise UsageError(
            f"{where}: {span} ends outside of the document, which has {len(text)} characters:"
            " label the text as it is stored"
        )
    passage = text[excerpt.start : excerpt.end]
    if excerpt.text and passage != excerpt.text:
        at = text.find(excerpt.text)
        hint = f"it stands at {at}" if at >= 0 else "it stands nowhere in the document"
        raise UsageError(
            f"{where}: {span} holds {_shorten(passage)}, not {_shorten(excerpt.text)}: {hint}"
        )


def _read_question(values: dict[str, Any], where: str) -> Question:
    only(values, FIELDS, where)
    text = field(values, "question", str, where)
    if not text.strip():
        raise UsageError(f"{where}: 'question' is blank: write a question")
    answers, references = (texts(values, name, where) for name in ("answers", "references"))
    if not all(answer.strip() for answer in (*answers, *references)):
        raise UsageError(f"{where}: an answer is blank: write one, or [] where there is none")
    spans: list[Any] = optional(values, "spans", [], where)
    tags: dict[str, Any] = optional(values, "tags", {}, where)
    answerable = _read_answerable(values, bool(answers), where)
    number = values.get("id")
    if isinstance(number, int) and not isinstance(number, bool):
        number = str(number)
    if number == "":
        raise UsageError(f"{where}: 'id' is empty: write one, or leave it out")
    return Question(
        typed(number, str, "'id'", where) if number is not None else _hash_text(text),
        text,
        relevant=_read_grades(optional(values, "relevant", {}, where), where),
        answers=answers,
        excerpts=tuple(_read_span(span, where) for span in spans),
        references=references,
        answerable=answerable,
        group=optional(values, "group", "", where),
        tags={name: typed(value, str, f"the tag {name!r}", where) for name, value in tags.items()},
        where=where,
    )


def _read_answerable(values: dict[str, Any], has_answers: bool, where: str) -> bool | None:
    value = values.get("answerable")
    if value is None:
        # An empty list means that there is no answer; an absent list means nothing.
        return has_answers if values.get("answers") is not None else None
    value = typed(value, bool, "'answerable'", where)
    if has_answers and not value:
        raise UsageError(f"{where}: it has answers and is not answerable: remove one of them")
    return value


def _read_grades(values: dict[str, Any], where: str) -> dict[str, int]:
    grades = {
        name: typed(value, int, f"the grade of {name!r}", where) for name, value in values.items()
    }
    for name, grade in grades.items():
        if grade < 0:
            raise UsageError(f"{where}: the grade of {name!r} is {grade}: write 0 or more")
    return grades


def _read_span(value: object, where: str) -> Excerpt:
    values = an_object(value, where)
    only(values, ("document", "start", "end", "text"), where)
    start, end = (field(values, name, int, where) for name in ("start", "end"))
    text = optional(values, "text", "", where)
    document = field(values, "document", str, where)
    if not 0 <= start < end:
        raise UsageError(
            f"{where}: the span {start}-{end} of {document!r} holds nothing: 'end' is after"
            " 'start', both count from 0"
        )
    if text and len(text) != end - start:
        raise UsageError(
            f"{where}: the span {start}-{end} of {document!r} is {end - start} characters long,"
            f" its text {len(text)}: correct one of them"
        )
    return Excerpt(document, start, end, text)


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
