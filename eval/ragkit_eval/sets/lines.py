"""ragkit's own format of a labelled set: JSON lines, a question each; only "question" must be.

    {"id": "7", "question": "...", "answers": ["..."], "answerable": true, "relevant": {"URI": 1},
     "spans": [{"document": "URI", "start": 10, "end": 42, "text": "..."}], "group": "...",
     "tags": {"language": "en"}, "references": ["..."]}

The documents are a collection's. Knows nothing of whether they are there.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragkit.errors import UsageError
from ragkit_eval.files import write_whole
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


def own(path: Path, name: str) -> LabelledSet:
    """Read a set of ragkit's own format; see the module.

    `"answerable": false` or `"answers": []` says that the documents do not answer. A question
    without an id is known by a hash of its text. Raises NotFoundError, UsageError naming the line.
    """
    questions = [_question(values, where) for where, values in json_lines(path)]
    check_questions(questions, str(path))
    return LabelledSet(name, {}, tuple(questions))


def write_set(labelled: LabelledSet, path: Path) -> None:
    """Write the questions in ragkit's own format, whole or not at all.

    The documents are not written. Raises UsageError when the file cannot be made.
    """
    lines = [
        json.dumps(question.as_json(), ensure_ascii=False) + "\n" for question in labelled.questions
    ]
    write_whole(path, "".join(lines))


def check_questions(questions: Sequence[Question], what: str) -> None:
    """Raise UsageError for an empty set and for an id that two questions have."""
    if not questions:
        raise UsageError(f"{what}: the set is empty: it needs a question at least")
    first: dict[str, str] = {}
    for question in questions:
        before = first.setdefault(question.id, question.where)
        if before is not question.where:
            raise UsageError(
                f"{question.where}: the id {question.id!r} is {before}'s already: give each"
                " question an id of its own"
            )


def check_place(excerpt: Excerpt, text: str, where: str) -> None:
    """Raise UsageError for a place outside of its document, or at which something else stands."""
    place = f"the span {excerpt.start}-{excerpt.end} of {excerpt.document!r}"
    if excerpt.end > len(text):
        raise UsageError(
            f"{where}: {place} ends outside of the document, which has {len(text)} characters:"
            " label the text as it is stored"
        )
    there = text[excerpt.start : excerpt.end]
    if excerpt.text and there != excerpt.text:
        at = text.find(excerpt.text)
        hint = f"it stands at {at}" if at >= 0 else "it stands nowhere in the document"
        raise UsageError(
            f"{where}: {place} holds {_short(there)}, not {_short(excerpt.text)}: {hint}"
        )


def _question(values: dict[str, Any], where: str) -> Question:
    only(values, FIELDS, where)
    text = field(values, "question", str, where)
    if not text.strip():
        raise UsageError(f"{where}: 'question' is blank: write a question")
    answers, references = (texts(values, name, where) for name in ("answers", "references"))
    if not all(one.strip() for one in (*answers, *references)):
        raise UsageError(f"{where}: an answer is blank: write one, or [] where there is none")
    spans: list[Any] = optional(values, "spans", [], where)
    tags: dict[str, Any] = optional(values, "tags", {}, where)
    answerable = _answerable(values, bool(answers), where)
    number = values.get("id")
    if isinstance(number, int) and not isinstance(number, bool):
        number = str(number)
    if number == "":
        raise UsageError(f"{where}: 'id' is empty: write one, or leave it out")
    return Question(
        typed(number, str, "'id'", where) if number is not None else _identity(text),
        text,
        relevant=_relevant(optional(values, "relevant", {}, where), where),
        answers=answers,
        excerpts=tuple(_excerpt(one, where) for one in spans),
        references=references,
        answerable=answerable,
        group=optional(values, "group", "", where),
        tags={name: typed(value, str, f"the tag {name!r}", where) for name, value in tags.items()},
        where=where,
    )


def _answerable(values: dict[str, Any], has_answers: bool, where: str) -> bool | None:
    said = values.get("answerable")
    if said is None:
        # An empty list says that there is no answer; no list says nothing.
        return has_answers if values.get("answers") is not None else None
    said = typed(said, bool, "'answerable'", where)
    if has_answers and not said:
        raise UsageError(f"{where}: it has answers and is not answerable: take one of them away")
    return said


def _relevant(values: dict[str, Any], where: str) -> dict[str, int]:
    grades = {
        name: typed(value, int, f"the grade of {name!r}", where) for name, value in values.items()
    }
    for name, grade in grades.items():
        if grade < 0:
            raise UsageError(f"{where}: the grade of {name!r} is {grade}: write 0 or more")
    return grades


def _excerpt(value: object, where: str) -> Excerpt:
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


def _identity(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
