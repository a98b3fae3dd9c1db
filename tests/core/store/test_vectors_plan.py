"""Which plan a search takes, by arithmetic alone."""

import pytest

from ragkit.store.vectors.layout import Layout, Table
from ragkit.store.vectors.plan import COMPARE, Plan, plan_for

LARGE = Table(1, 384, Layout(), indexed=1, written=2, rows=100_000)


def test_a_whole_collection_is_walked_as_far_as_k() -> None:
    assert plan_for(LARGE, 10, rows=100_000, matching=100_000) == Plan(10, ef_search=100)
    assert plan_for(LARGE, 300, rows=100_000, matching=100_000) == Plan(300, ef_search=600)


@pytest.mark.parametrize(
    ("matching", "walked"),
    # (10 + 4 sqrt(10)) / share: how many rows of all it takes for 10 to pass
    [(100, 0), (1_000, 0), (3_000, 0), (5_000, 453), (10_000, 227), (50_000, 46)],
)
def test_a_filter_is_walked_through_where_it_leaves_enough(matching: int, walked: int) -> None:
    plan = plan_for(LARGE, 10, rows=100_000, matching=matching, filtered=True)
    assert plan.walked == walked
    assert plan.ef_search >= 1.5 * walked


def test_a_small_collection_beside_a_large_one_is_compared() -> None:
    assert plan_for(LARGE, 10, rows=900, matching=900) == COMPARE
    assert plan_for(LARGE, 10, rows=5, matching=5) == COMPARE


def test_an_effort_that_was_set_is_taken() -> None:
    table = Table(1, 384, Layout(effort=40), indexed=1, written=2, rows=100_000)
    assert plan_for(table, 10, rows=100_000, matching=100_000) == Plan(10, ef_search=40)


def test_what_a_coarse_index_finds_is_enough_to_choose_from() -> None:
    table = Table(1, 384, Layout("bit"), indexed=1, written=2, rows=100_000)
    assert plan_for(table, 10, rows=100_000, matching=100_000) == Plan(400, ef_search=400)
