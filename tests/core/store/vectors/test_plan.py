"""Which plan a search takes, by arithmetic alone."""

import pytest

from ragkit.store.vectors.layout import Layout, Table
from ragkit.store.vectors.plan import COMPARE, Plan, plan_for

LARGE = Table(1, 384, Layout(), indexed=1, written=2, rows=100_000)


def test_a_whole_collection_is_walked_as_far_as_k() -> None:
    assert plan_for(LARGE, 10, rows=100_000, matching=100_000) == Plan(10, ef_search=100)
    assert plan_for(LARGE, 300, rows=100_000, matching=100_000) == Plan(300, ef_search=600)


@pytest.mark.parametrize(
    ("matching", "plan"),
    # (10 + 4 sqrt(10)) / share rows of all for 10 to pass: 23 in the mean, and twice the effort.
    # Ten are enough of what the index gathers at once, which comes in order.
    [
        (100, COMPARE),
        (1_000, COMPARE),
        (3_000, COMPARE),
        (5_000, Plan(453, 453, enough=10)),
        (10_000, Plan(227, 227, enough=10)),
        (30_000, Plan(200, 100, enough=23)),
        (50_000, Plan(200, 100, enough=23)),
    ],
)
def test_a_filter_is_walked_through_where_it_leaves_enough(matching: int, plan: Plan) -> None:
    assert plan_for(LARGE, 10, rows=100_000, matching=matching, filtered=True) == plan


# Measured milliseconds of a PostgreSQL process: comparing what passes, walking until 23 passed.
@pytest.mark.parametrize(
    ("rows", "matching", "compared_ms", "walked_ms"),
    [
        (10_000, 300, 0.7, 7.7),
        (10_000, 1_000, 1.4, 3.2),
        (10_000, 3_000, 2.8, 1.3),
        (10_000, 5_000, 4.2, 1.3),
        (100_000, 3_000, 5.2, 6.3),
        (100_000, 10_000, 11.2, 1.7),
        (100_000, 30_000, 26.7, 1.3),
        (100_000, 50_000, 38.1, 1.1),
    ],
)
def test_the_cheaper_plan_is_chosen_where_both_were_measured(
    rows: int, matching: int, compared_ms: float, walked_ms: float
) -> None:
    table = Table(1, 384, Layout(), indexed=1, written=2, rows=rows)
    plan = plan_for(table, 10, rows=rows, matching=matching, filtered=True)
    assert plan.walks == (walked_ms < compared_ms)


def test_of_a_coarse_index_as_many_candidates_pass_a_filter_as_are_taken_without() -> None:
    table = Table(1, 384, Layout("bit"), indexed=1, written=2, rows=100_000)
    plan = plan_for(table, 10, rows=100_000, matching=50_000, filtered=True)
    assert plan == Plan(800, ef_search=800, enough=400)


def test_a_small_collection_beside_a_large_one_is_compared() -> None:
    assert plan_for(LARGE, 10, rows=900, matching=900) == COMPARE
    assert plan_for(LARGE, 10, rows=5, matching=5) == COMPARE


def test_more_rows_take_more_effort() -> None:
    table = Table(1, 384, Layout(), indexed=1, written=2, rows=10_000_000)
    plan = plan_for(table, 10, rows=10_000_000, matching=10_000_000)
    assert plan == Plan(10, ef_search=178)  # 100 * 10 ** 0.25


def test_an_effort_that_was_set_is_taken() -> None:
    table = Table(1, 384, Layout(effort=40), indexed=1, written=2, rows=100_000)
    assert plan_for(table, 10, rows=100_000, matching=100_000) == Plan(10, ef_search=40)


def test_what_a_coarse_index_finds_is_enough_to_choose_from() -> None:
    table = Table(1, 384, Layout("bit"), indexed=1, written=2, rows=100_000)
    assert plan_for(table, 10, rows=100_000, matching=100_000) == Plan(400, ef_search=400)
    assert plan_for(table, 100, rows=100_000, matching=100_000) == Plan(1_000, ef_search=1_000)
    assert plan_for(table, 1_000, rows=100_000, matching=100_000) == Plan(2_000, ef_search=1_000)


def test_of_more_rows_more_candidates_of_a_coarse_index_are_compared() -> None:
    table = Table(1, 384, Layout("bit"), indexed=1, written=2, rows=10_000_000)
    plan = plan_for(table, 10, rows=10_000_000, matching=10_000_000)
    assert plan == Plan(711, ef_search=711)  # 400 * 10 ** 0.25
    # Those that pass a filter are fewer rows, of which fewer candidates have the nearest.
    plan = plan_for(table, 10, rows=10_000_000, matching=1_000_000, filtered=True)
    assert plan == Plan(4_000, ef_search=1_000, enough=400)
    chosen = Table(1, 384, Layout("bit", effort=500), indexed=1, written=2, rows=10_000_000)
    plan = plan_for(chosen, 10, rows=10_000_000, matching=10_000_000)
    assert plan == Plan(500, ef_search=500)


def test_a_walk_goes_on_for_no_longer_than_comparing_takes() -> None:
    table = Table(1, 384, Layout(), indexed=1, written=2, rows=10_000)
    plan = plan_for(table, 10, rows=10_000, matching=2_000, filtered=True)
    assert plan == Plan(190, ef_search=114, enough=23)  # (2,000 * 0.8 + 10,000 * 0.03) / 10
