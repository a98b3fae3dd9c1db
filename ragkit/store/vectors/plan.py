"""Which way of searching is cheaper: arithmetic alone.

A walk costs by the rows of the index it comes to, a comparison by the rows it compares and the
documents it judges. The constants are microseconds of a PostgreSQL process for 384 dimensions in
half precision, at 10k and 100k rows, documents of 10 chunks; only their ratios matter. Where what
passes lies away from the query, a walk is given up and all is compared: as it goes on for no longer
than comparing takes, both cost at most about twice comparing alone. See docs/decisions/0023.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Final

from ragkit.store.vectors.layout import MOST_EF_SEARCH, Table

WALK_US: Final = 10.0  # a row that the index comes to, judged by the filter: 100 take 1.1 ms
FAR_US: Final = 20.0  # one beyond what the index gathers at once
SCAN_US: Final = 0.5  # a row of a collection that is compared whole
COMPARE_US: Final = 0.8  # a row that a filter leaves: of 100k rows 10k take 11 ms, 50k 41 ms
JUDGE_US: Final = 0.03  # a row's share of judging its document

SPARE: Final = 4.0  # standard deviations of how many rows pass: fewer than k do once in 10,000
CANDIDATES: Final = 20  # of a coarser form, compared exactly for each row that is wanted
# A walk ends when enough passed, so that it may go on for less than comparing takes. Four times the
# effort gave recalls of 0.98 where only far clusters pass (100k rows), twice 0.997.
FURTHER: Final = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """How a search is done: by taking the `walked` nearest rows of the index, fewer when `enough`
    passed, or, where that is 0, by comparing every row."""

    walked: int = 0
    ef_search: int = 1
    enough: int | None = None

    @property
    def walks(self) -> bool:
        return self.walked > 0


COMPARE: Final = Plan()


def plan_for(table: Table, k: int, *, rows: int, matching: int, filtered: bool = False) -> Plan:
    """Choose the cheaper plan for a collection of so many rows, about `matching` to be found."""
    if matching <= k:
        return COMPARE
    share = min(1.0, matching / max(1, table.rows))
    least = max(table.effort, 2 * k)
    candidates = _candidates(table, k, matching) if table.reranks else k
    walked, enough = candidates, None
    if share < 1 or filtered:
        passing = candidates if table.reranks else k + SPARE * sqrt(k)
        walked, enough = ceil(passing / share), ceil(passing)
    ef_search = min(MOST_EF_SEARCH, max(least, walked))
    near = max(walked, ef_search)
    walk_us = WALK_US * min(near, MOST_EF_SEARCH) + FAR_US * max(0, near - MOST_EF_SEARCH)
    compare_us = COMPARE_US * matching + JUDGE_US * rows if filtered else SCAN_US * rows
    if walk_us >= compare_us:
        return COMPARE
    if enough is not None:
        walked = max(walked, min(FURTHER * least, int(compare_us / WALK_US)))
        # Gathered at once, they come in order: none that is nearer comes later.
        if walked <= ef_search and not table.reranks:
            enough = k
    return Plan(walked, ef_search, enough)


def _candidates(table: Table, k: int, rows: int) -> int:
    """Tell how many of the nearest of `rows` by a coarser form to compare exactly for k."""
    effort = replace(table, rows=rows).effort
    return max(2 * k, min(MOST_EF_SEARCH, max(effort, CANDIDATES * k)))
