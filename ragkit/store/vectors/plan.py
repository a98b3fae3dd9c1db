"""Which way of searching is cheaper: arithmetic alone.

The constants are microseconds of 384 dimensions, measured at 10k and 100k rows on 2 cores; only
their ratios matter, which depend little on machine and dimension. See benchmarks/dense.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final

from ragkit.store.vectors.layout import MOST_EF_SEARCH, Table

WALK_US: Final = 10.0  # a row that the index comes to, judged by the filter
FAR_US: Final = 20.0  # one beyond what the index gathers at once
SCAN_US: Final = 0.5  # a row of a collection that is compared whole
COMPARE_US: Final = 1.5  # a row that a filter leaves
JUDGE_US: Final = 0.03  # a row's share of judging its document

SPARE: Final = 4.0  # standard deviations of how many rows pass: fewer than k do once in 10,000
# The last of what HNSW gathers is the least sure: with as many as are walked, recall was 0.96 where
# 3% match.
WIDER: Final = 1.5


@dataclass(frozen=True, slots=True)
class Plan:
    """How a search is done: by taking the `walked` nearest rows of the index, or, where that is 0,
    by comparing every row."""

    walked: int = 0
    ef_search: int = 1

    @property
    def walks(self) -> bool:
        return self.walked > 0


COMPARE: Final = Plan()


def plan_for(table: Table, k: int, *, rows: int, matching: int, filtered: bool = False) -> Plan:
    """Choose the cheaper plan for a collection of so many rows, about `matching` to be found."""
    if matching <= k:
        return COMPARE
    share = min(1.0, matching / max(1, table.rows))
    walked = gathered = k
    if share < 1 or filtered:
        walked = ceil((k + SPARE * sqrt(k)) / share)
        gathered = ceil(WIDER * walked)
    if table.reranks:
        walked = max(walked, table.effort, min(20 * k, 2_000))
    ef_search = min(MOST_EF_SEARCH, max(table.effort, 2 * k, gathered, walked))
    near = max(walked, ef_search)
    walk_us = WALK_US * min(near, MOST_EF_SEARCH) + FAR_US * max(0, near - MOST_EF_SEARCH)
    compare_us = COMPARE_US * matching + JUDGE_US * rows if filtered else SCAN_US * rows
    return Plan(walked, ef_search) if walk_us < compare_us else COMPARE
