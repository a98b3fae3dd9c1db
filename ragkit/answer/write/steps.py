"""Tell a model's steps from its answer, which a line with nothing but "### Answer" begins.

Models word that line a little differently, or forget it; the answer is not lost for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, cast

from ragkit.types import Finish, Reasoning

if TYPE_CHECKING:
    Piece = str | Reasoning | Finish

_WORD: Final = r"[^\w\n]*+(?:(?:the |my )?(?:final )?answer|(?:最[终終])?(?:答案|回答))"
_LINE: Final = re.compile(rf"^{_WORD}[^\w\n]*+\n", re.IGNORECASE | re.MULTILINE)
# The word and the answer in one line, which is taken for it only where there is no other.
_INLINE: Final = re.compile(rf"^{_WORD}\**+[:：][ *]*+", re.IGNORECASE | re.MULTILINE)


def split_steps(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Yield the steps as one Reasoning, then the answer's text as it comes.

    Where no line begins an answer, the text after the last "Answer:" is one, else the whole; of a
    text that was cut off there is none.
    """
    held, place = "", "steps"
    with closing(cast("Any", pieces)):
        for piece in pieces:
            if isinstance(piece, Finish) and place == "steps":
                yield from _undivided(held, is_cut=piece.reason == "length")
            if place == "answer" or not isinstance(piece, str):
                yield piece
                continue
            start = held.rfind("\n") + 1
            held += piece
            line = _LINE.search(held, start) if place == "steps" else None
            if line is not None:
                yield from _steps(held, line)
                held, place = held[line.end() :], "before"
            if place == "before" and (answer := held.lstrip()):
                place = "answer"
                yield answer


def _steps(text: str, mark: re.Match[str]) -> Iterator[Reasoning]:
    if steps := text[: mark.start()].strip():
        yield Reasoning(steps)


def _undivided(text: str, *, is_cut: bool) -> Iterator[Piece]:
    """Yield a whole text in which no line begins an answer, unless it is the last."""
    if is_cut:
        yield Reasoning(text)
    elif line := _LINE.search(f"{text}\n", text.rfind("\n") + 1):
        yield from _steps(text, line)
    elif (marks := list(_INLINE.finditer(text))) and text[marks[-1].end() :].strip():
        yield from _steps(text, marks[-1])
        yield text[marks[-1].end() :]
    elif text:
        yield text
