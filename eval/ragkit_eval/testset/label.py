"""Label a made question as a question of a labelled set, and write the set."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ragkit.errors import UsageError
from ragkit.prompts.templates import PromptLanguage
from ragkit.types import Span
from ragkit_eval.run.files import check_folder
from ragkit_eval.sets import Excerpt, LabelledSet, Question, write_set
from ragkit_eval.testset.kinds import Kind


def answerable(
    uri: str,
    question: str,
    *,
    answer: str,
    span: Span,
    quote: str,
    language: PromptLanguage,
    kind: Kind,
) -> Question:
    """Label a question that the span of a document answers; `quote` is the text of the span.

    `answer` and `quote` are "" if the span as a whole answers, without a short answer.
    """
    return Question(
        hash_question(uri, question),
        question,
        relevant={uri: 1},
        answers=(answer,) if answer else (),
        excerpts=(Excerpt(uri, span.start, span.end, quote),),
        answerable=True,
        group=uri,
        tags={"kind": kind, "language": language},
    )


def unanswerable(uri: str, question: str, *, language: PromptLanguage, kind: Kind) -> Question:
    """Label a question that was made from a document and that no document answers."""
    return Question(
        hash_question(uri, question),
        question,
        answerable=False,
        group=uri,
        tags={"kind": kind, "language": language},
    )


def named(question: Question, name: str) -> Question:
    """Replace the URI of a question's document by another name."""
    return replace(
        question,
        id=hash_question(name, question.text),
        relevant={name: 1} if question.relevant else {},
        excerpts=tuple(replace(excerpt, document=name) for excerpt in question.excerpts),
        group=name,
    )


def hash_question(document: str, question: str) -> str:
    """Return an id that depends only on the document's name and the question.

    >>> hash_question("a.md", "Why?")
    '508ef253a7d1'
    """
    return hashlib.sha256(f"{document}\0{question}".encode()).hexdigest()[:12]


def check_new(out: Path) -> None:
    """Raise UsageError for a file that exists or cannot be created; call it before the work.

    A set may have been corrected by hand, so it is never overwritten.
    """
    if out.is_file() or out.is_symlink():
        raise UsageError(f"{out} is already there: name another file, or remove it")
    check_folder(out)
    if not os.access(out.absolute().parent, os.W_OK):
        raise UsageError(f"{out} cannot be written: its folder is not yours: name another file")


def write(out: Path, questions: Sequence[Question]) -> None:
    """Write the set atomically. Raises UsageError when the file cannot be created."""
    write_set(LabelledSet(out.stem, {}, tuple(questions)), out)
