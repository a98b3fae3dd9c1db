"""Complete a follow-up question without a language model, with words of the previous question.

`ragkit.question.standalone` decides whether a question needs that.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from ragkit.question.reading import has_cjk, read_question
from ragkit.text.analyse import CJK, analyse
from ragkit.text.variants import fold_variants

MAX_ADDED: Final = 12  # terms; arbitrary: the question itself must stay the larger part

_RUN = re.compile(rf"[{CJK}]+|(?:(?![{CJK}_])\w)+")


def add_words(question: str, previous: str) -> str:
    """Add to a question the content words of the previous question.

    >>> add_words("How long does it last?", "What is the probation period?")
    'How long does it last? (probation period)'
    """
    added = _content_words(previous, question) if analyse(question) else []
    return f"{question} ({' '.join(added)})" if added else question


def _content_words(previous: str, question: str) -> list[str]:
    """List the content words of the previous question, as it writes them."""
    content = read_question(previous).content - read_question(question).content
    words: list[str] = []
    for run in _RUN.findall(previous):
        if not has_cjk(run):
            words += [run] if content.intersection(analyse(run)) else []
        elif has_cjk(question):  # an English question stays one
            words += _stretches(run, content)
    return list(dict.fromkeys(words))[:MAX_ADDED]


def _stretches(run: str, content: Collection[str]) -> list[str]:
    """Cut a run of Chinese into the stretches that its content pairs cover."""
    folded = fold_variants(run)
    pairs = [folded[i : i + 2] in content for i in range(len(run) - 1)] or [folded in content]
    covered = [i for i in range(len(run)) if any(pairs[max(i - 1, 0) : i + 1])]
    marked = "".join(run[i] if i in covered else " " for i in range(len(run)))
    return marked.split()
