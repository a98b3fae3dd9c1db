"""The k best chunks that a filter leaves: the same, whether they are checked or listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from ragkit.filters.tree import Every
from ragkit.retrieve.words.constrained import ConstrainedSearch
from ragkit.text.postings import Postings, Segment

if TYPE_CHECKING:
    from ragkit.contracts import Reader
    from ragkit.retrieve.words.constrained import Masks, Ranked
    from ragkit.retrieve.words.demands import DemandFilter

CHUNKS = 100_000
ORDER = np.random.default_rng(0).permutation(CHUNKS)  # the best first


@dataclass
class Filtered:
    """A reader of which only every `each`-th chunk passes the filter, and what it was asked."""

    each: int
    asked: list[str] = field(default_factory=list)

    def allowed(self, collection: str, chunks: Sequence[int], where: object) -> list[int]:
        self.asked.append("allowed")
        return [chunk for chunk in chunks if chunk % self.each == 0]

    def matching(self, collection: str, where: object) -> list[int]:
        self.asked.append("matching")
        return list(range(0, CHUNKS, self.each))


@dataclass
class Demanded:
    """Demands that only chunks of these numbers meet, by their text; None: there are none."""

    meeting: range | None = None
    masks: None = None

    @property
    def by_postings(self) -> bool:
        return self.meeting is None

    def select_by_text(self, chunks: Sequence[int]) -> list[int]:
        assert self.meeting is not None, "nothing is demanded"
        return [chunk for chunk in chunks if chunk in self.meeting]


def ranked(number: int, masks: Masks | None) -> Ranked:
    order = ORDER if masks is None else ORDER[masks[0][ORDER]]
    return [(int(chunk), float(-n)) for n, chunk in enumerate(order[:number])]


def search(reader: Filtered, demands: Demanded, k: int) -> list[int]:
    segment = Segment(np.arange(CHUNKS), np.ones(CHUNKS, np.int32))
    parts: tuple[Any, ...] = (
        cast("Reader", reader),
        "c",
        Every(()),
        Postings(CHUNKS, CHUNKS, [segment], {}),
        cast("DemandFilter", demands),
        ranked,
    )
    return [chunk for chunk, _ in ConstrainedSearch(*parts).best(k)]


@pytest.mark.parametrize("meeting", [None, range(CHUNKS // 2)], ids=["filter", "and a phrase"])
@pytest.mark.parametrize(
    ("each", "asked"),
    [
        (1, {"allowed"}),
        (2, {"allowed"}),
        (10, {"allowed"}),
        (1_000, {"allowed", "matching"}),
        (CHUNKS, {"allowed", "matching"}),  # one passes
    ],
)
def test_the_best_come_back_however_few_pass(
    each: int, asked: set[str], meeting: range | None
) -> None:
    reader = Filtered(each)
    best = [
        chunk
        for chunk in ORDER.tolist()
        if chunk % each == 0 and (meeting is None or chunk in meeting)
    ]
    assert search(reader, Demanded(meeting), 10) == best[:10]
    assert set(reader.asked) == asked


def test_the_filter_of_a_small_collection_is_asked_once() -> None:
    """Many candidates of few chunks: they are listed, and none is checked besides."""
    reader = Filtered(7)
    assert len(search(reader, Demanded(), 10_000)) == 10_000
    assert reader.asked == ["matching"]
