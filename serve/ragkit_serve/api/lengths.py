"""A bound on all texts of a request together: their sum is what the work grows with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic_core import PydanticCustomError

Texts = TypeVar("Texts", list[str], str | list[str])


def at_most(chars: int) -> Callable[[Texts], Texts]:
    """Return a validator of texts that refuses more than so many characters in all, by a 413."""

    def check(texts: Texts) -> Texts:
        total = len(texts) if isinstance(texts, str) else sum(map(len, texts))
        if total > chars:
            raise PydanticCustomError(
                "too_large",
                "the texts have {total} characters, {chars} are taken at once: send fewer",
                {"total": f"{total:,}", "chars": f"{chars:,}"},
            )
        return texts

    return check
