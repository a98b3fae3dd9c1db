"""Small chunks found, their parents shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragkit.retrieve.steps.parents import Parents
from ragkit.testing import FakeEmbedder, FakeStore, fill, new_document
from ragkit.types import Chunk, Hit, NewDocument, Span

TEXT = "Wings lift. Tails turn. Wheels roll. Brakes stop."
UPPER, LOWER = Span(0, 23), Span(24, 49)


def parented() -> NewDocument:
    chunks = (
        Chunk(0, 0, 11, 2, 1, ("Parts", "Air"), parent=UPPER),
        Chunk(1, 12, 23, 2, 2, ("Parts", "Air", "Tail"), parent=UPPER),
        Chunk(2, 24, 36, 2, 2, ("Parts", "Ground"), parent=LOWER),
        Chunk(3, 37, 49, 2, 2, ("Parts", "Ground"), lead=Span(24, 36)),
    )
    return replace(new_document("parts.md", TEXT), chunks=chunks)


def hits(store: FakeStore, order: Sequence[int]) -> list[Hit]:
    """The chunks with these ordinals, best first."""
    with store.snapshot() as reader:
        found = reader.hits(range(100))
        return [replace(found[n], score=1 / (at + 1)) for at, n in enumerate(order)]


def test_hits_of_one_parent_become_one_in_the_place_of_the_best() -> None:
    store = FakeStore()
    fill(store, FakeEmbedder(), [parented()])
    given = hits(store, [1, 3, 0, 2])
    shown = Parents(store).refine("wings", given)
    assert [hit.text for hit in shown] == [
        "Wings lift. Tails turn.",
        "Brakes stop.",
        "Wheels roll. Brakes stop.",
    ]
    best, plain, other = shown
    assert (best.chunk, best.score, best.start, best.end) == (given[0].chunk, 1.0, 0, 23)
    assert (best.page, best.headings, best.parent) == (1, ("Parts", "Air"), None)
    assert (plain, plain.lead) == (given[1], "Wheels roll.")
    assert (other.page, other.headings, other.score) == (2, ("Parts", "Ground"), 0.25)
    assert Parents(store).refine("wings", shown) == shown
    assert Parents(store).refine("wings", []) == []


def test_a_hit_whose_document_changed_meanwhile_stays_as_it_is() -> None:
    store = FakeStore()
    fill(store, FakeEmbedder(), [parented()])
    given = hits(store, [0, 1])
    fill(store, FakeEmbedder(), [parented()])
    assert Parents(store).refine("wings", given) == given
