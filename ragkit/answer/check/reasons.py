"""Explain in plain words why a sentence is not supported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragkit.answer.check.claim_signals import Signals

_LITTLE = 0.35  # of a clause's content
_EXCHANGED = 0.5  # above: a part changed places; below: the order merely differs


def list_reasons(signals: Signals, unverified: Sequence[str], misplaced: int = 0) -> Iterator[str]:
    """Yield the evidence against a sentence.

    `unverified` are its pieces that no source has, `misplaced` counts the numbers that the sources
    give for something else.

    >>> list(list_reasons(Signals(clause=1.0, cosine=None, denies=True), ["40"]))
    ['“40” stands in none of the sources', 'it denies something that its source does not deny']
    """
    for piece in unverified:
        yield f"“{piece}” stands in none of the sources"
    if signals.numbers_missing and not unverified:
        yield "one of its numbers stands in none of the sources"
    if misplaced or signals.numbers_elsewhere:
        yield "the sources give one of its numbers for something else"
    if signals.names_elsewhere:
        yield "the sources use one of its names for something else"
    if signals.denies:
        yield "it denies something that its source does not deny"
    if signals.affirms:
        yield "its source denies something that it does not deny"
    if signals.exchanged > _EXCHANGED:
        yield "two parts of it have changed places"
    if signals.clause < _LITTLE:
        yield "no sentence of the sources has most of its words"


def explain_claim(signals: Signals, unverified: Sequence[str], misplaced: int = 0) -> str:
    """Say in one line why a sentence is not supported."""
    listed = "; ".join(list_reasons(signals, unverified, misplaced))
    return listed or "no sentence of the sources is near enough to it"
