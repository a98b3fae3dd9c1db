"""Tokens that a language model counted beside an answer itself, such as for rewriting a question.

An answer carries its own `Usage`; what short calls before it cost is noted here, by context.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ragkit.types import Usage

_noted: ContextVar[list[Usage] | None] = ContextVar("noted_usage", default=None)


@contextmanager
def tally() -> Iterator[list[Usage]]:
    """Collect the usage of the calls in this context, as they end.

    >>> with tally() as noted:
    ...     note(Usage(120, 9))
    >>> noted
    [Usage(prompt_tokens=120, completion_tokens=9, cached_tokens=None)]
    """
    noted: list[Usage] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def note(usage: Usage | None) -> None:
    """Note what a call cost, where somebody collects it; None is what a server did not tell."""
    noted = _noted.get()
    if noted is not None and usage is not None:
        noted.append(usage)
