"""Follow-up questions without a language model: what a question leaves out is taken from the last.

Whether it leaves anything out is `ragkit.conversation.alone`'s to say. It knows nothing of what was
answered.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from ragkit.answer.question import has_cjk, read_question
from ragkit.text.analyse import CJK, analyse
from ragkit.text.variants import fold_variants

MAX_ADDED: Final = 12  # terms; arbitrary: the question itself must stay the larger part

_RUN = re.compile(rf"[{CJK}]+|(?:(?![{CJK}_])\w)+")


def expanded(question: str, before: str) -> str:
    """Add to a question the content words of the question before.

    >>> expanded("How long does it last?", "What is the probation period?")
    'How long does it last? (probation period)'
    """
    added = _content_words(before, question) if analyse(question) else []
    return f"{question} ({' '.join(added)})" if added else question


def _content_words(before: str, question: str) -> list[str]:
    """List the words of the question before that hold content, as it writes them."""
    content = read_question(before).content - read_question(question).content
    words: list[str] = []
    for run in _RUN.findall(before):
        if not has_cjk(run):
            words += [run] if content.intersection(analyse(run)) else []
        elif has_cjk(question):  # an English question stays one
            words += _stretches(run, content)
    return list(dict.fromkeys(words))[:MAX_ADDED]


def _stretches(run: str, content: Collection[str]) -> list[str]:
    """Cut a run of Chinese into the stretches that its pairs of content cover."""
    folded = fold_variants(run)
    pairs = [folded[i : i + 2] in content for i in range(len(run) - 1)] or [folded in content]
    covered = [i for i in range(len(run)) if any(pairs[max(i - 1, 0) : i + 1])]
    marked = "".join(run[i] if i in covered else " " for i in range(len(run)))
    return marked.split()
