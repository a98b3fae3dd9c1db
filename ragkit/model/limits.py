"""An answer bounded in time: past the bound, or broken off, it is marked as incomplete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from ragkit.errors import IncompleteAnswerError, ModelServerError
from ragkit.types import Finish, Reasoning

Piece = str | Reasoning | Finish


async def bounded(
    pieces: AsyncGenerator[Piece, None], total_timeout_s: float, who: str
) -> AsyncGenerator[Piece, None]:
    """Pass pieces on. Raises ModelServerError, once a piece has come IncompleteAnswerError."""
    begun, received = False, ""
    try:
        async with asyncio.timeout(total_timeout_s), aclosing(pieces):
            async for piece in pieces:
                begun = True
                received += piece if isinstance(piece, str) else ""
                yield piece
    except TimeoutError as error:
        problem = (
            f"{who} took longer than {total_timeout_s:g} s for the whole answer: see its load, or"
            " raise RAGKIT_LLM_TOTAL_TIMEOUT_S"
        )
        raise _failed(problem, received, begun=begun) from error
    except ModelServerError as error:
        if not begun:
            raise
        raise _failed(str(error), received, begun=begun) from error


def _failed(problem: str, received: str, *, begun: bool) -> ModelServerError:
    if begun:
        return IncompleteAnswerError(f"the answer is incomplete: {problem}", received)
    return ModelServerError(problem)
