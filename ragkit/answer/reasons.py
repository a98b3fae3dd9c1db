"""Why a sentence is not supported, in plain words. It judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragkit.answer.prose import Signals

_LITTLE = 0.35  # of a clause's content
_APART = 0.5  # a part that changed places, rather than an order that differs


def reasons(signals: Signals, unverified: Sequence[str], misplaced: int = 0) -> Iterator[str]:
    """Yield what speaks against a sentence.

    `unverified` are its pieces that no source has, `misplaced` counts the numbers that the sources
    say of something else.

    >>> list(reasons(Signals(clause=1.0, cosine=None, denies=True), ["40"]))
    ['“40” stands in none of the sources', 'it denies something that its source does not deny']
    """
    for piece in unverified:
        yield f"“{piece}” stands in none of the sources"
    if signals.numbers_missing and not unverified:
        yield "a number of it stands in none of the sources"
    if misplaced or signals.numbers_elsewhere:
        yield "the sources say a number of it of something else"
    if signals.names_elsewhere:
        yield "the sources use a name of it for something else"
    if signals.denies:
        yield "it denies something that its source does not deny"
    if signals.affirms:
        yield "its source denies something that it does not deny"
    if signals.exchanged > _APART:
        yield "two parts of it have changed places"
    if signals.clause < _LITTLE:
        yield "no sentence of the sources has most of its words"


def why(signals: Signals, unverified: Sequence[str], misplaced: int = 0) -> str:
    """Say in one line what speaks against a sentence that is not supported."""
    listed = "; ".join(reasons(signals, unverified, misplaced))
    return listed or "what it says is not near enough to any sentence of the sources"
