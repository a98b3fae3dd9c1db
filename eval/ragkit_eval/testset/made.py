"""A question that was made, as a labelled set has it, and the file that the set becomes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ragkit.answer.templates import PromptLanguage
from ragkit.errors import UsageError
from ragkit.types import Span
from ragkit_eval.files import check_folder
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
    """Label a question that the place `span` of a document answers; `quote` stands there.

    `answer` and `quote` are "" where the place as a whole answers, and no short text does.
    """
    return Question(
        identity(uri, question),
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
        identity(uri, question),
        question,
        answerable=False,
        group=uri,
        tags={"kind": kind, "language": language},
    )


def named(question: Question, name: str) -> Question:
    """Name a question's document otherwise than by its URI."""
    return replace(
        question,
        id=identity(name, question.text),
        relevant={name: 1} if question.relevant else {},
        excerpts=tuple(replace(one, document=name) for one in question.excerpts),
        group=name,
    )


def identity(document: str, question: str) -> str:
    """Return an id that depends on nothing but the document's name and the question.

    >>> identity("a.md", "Why?")
    '508ef253a7d1'
    """
    return hashlib.sha256(f"{document}\0{question}".encode()).hexdigest()[:12]


def check_new(out: Path) -> None:
    """Refuse, before any work, a file that is there already or cannot be made.

    A set may have been corrected by hand: it is never written over. Raises UsageError.
    """
    if out.is_file() or out.is_symlink():
        raise UsageError(f"{out} is already there: name another file, or remove it")
    check_folder(out)
    if not os.access(out.absolute().parent, os.W_OK):
        raise UsageError(f"{out} cannot be written: its folder is not yours: name another file")


def write(out: Path, questions: Sequence[Question]) -> None:
    """Write the set whole or not at all. Raises UsageError when the file cannot be made."""
    write_set(LabelledSet(out.stem, {}, tuple(questions)), out)
