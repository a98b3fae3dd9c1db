"""Tell a thinking model's `<think>...</think>` from its answer while it streams.

It knows only the tags: thinking that a server sends apart from the content never gets here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ragkit.types import Reasoning

OPEN, CLOSE = "<think>", "</think>"


class Thinking:
    """Splits an answer's pieces; only what stands before the answer can be thinking.

    The tags may be spread over pieces. White space before the answer is dropped. `stray` tells
    whether an end of thinking without a beginning has come within the answer.

    >>> thinking = Thinking()
    >>> [*thinking.feed("<think>hm</"), *thinking.feed("think> Yes"), *thinking.end()]
    [Reasoning(text='hm'), 'Yes']
    """

    def __init__(self) -> None:
        self.stray = False
        self._held = ""  # what cannot be told yet
        self._tail = ""  # of the answer, where an end of thinking may be half there
        self._place: Literal["before", "inside", "answer"] = "before"

    def feed(self, piece: str | Reasoning) -> Iterator[str | Reasoning]:
        """Yield what is certain now that this piece has come; reasoning told apart passes as is."""
        if isinstance(piece, Reasoning):
            yield piece
            return
        self._held += piece
        if self._place == "before":
            yield from self._before()
        elif self._place == "inside":
            yield from self._inside()
        else:
            yield from self._answer()

    def end(self) -> Iterator[str | Reasoning]:
        """Yield what was held back because it looked like the beginning of a tag."""
        if self._held:
            yield Reasoning(self._held) if self._place == "inside" else self._held

    def _before(self) -> Iterator[str | Reasoning]:
        self._held = self._held.lstrip()
        if self._held.startswith(OPEN):
            self._held = self._held.removeprefix(OPEN)
            self._place = "inside"
            yield from self._inside()
        elif not OPEN.startswith(self._held):
            self._place = "answer"
            yield from self._answer()

    def _inside(self) -> Iterator[str | Reasoning]:
        thought, closed, remainder = self._held.partition(CLOSE)
        partial_tag = "" if closed else _begun_tag(thought)
        if piece := thought.removesuffix(partial_tag):
            yield Reasoning(piece)
        self._held = remainder if closed else partial_tag
        if closed:
            self._place = "before"
            yield from self._before()

    def _answer(self) -> Iterator[str | Reasoning]:
        piece, self._held = self._held, ""
        self.stray = self.stray or CLOSE in self._tail + piece
        self._tail = (self._tail + piece)[1 - len(CLOSE) :]
        if piece:
            yield piece


def _begun_tag(text: str) -> str:
    """Return the longest end of the text that the closing tag may go on from."""
    sizes = range(min(len(text), len(CLOSE) - 1), 0, -1)
    return next((text[-size:] for size in sizes if CLOSE.startswith(text[-size:])), "")
