"""Figures from requests: percentiles with their samples, shares, and what failed beside them."""

import pytest

from ragkit_serve.model.bench.summary import DEFINITIONS, Row, spread, summarise


def made(number: int, e2e_s: float, **options: object) -> Row:
    return Row(number=number, group=0, start_s=0.0, e2e_s=e2e_s, **options)  # type: ignore[arg-type]


ROWS = [
    made(0, 1.0, ttft_s=0.5, gaps_s=(0.25, 0.25), prompt_tokens=100, output_tokens=3),
    made(1, 2.0, ttft_s=1.0, gaps_s=(0.5,), prompt_tokens=200, output_tokens=2),
    made(2, 9.0, error="HTTP 503"),
    made(3, 0.5, ttft_s=0.5, prompt_tokens=300, output_tokens=1),
]


def test_the_figures_of_a_level() -> None:
    got = summarise(ROWS, 4.0)
    assert (got.completed, got.failed, got.errors) == (3, 1, {"HTTP 503": 1})
    assert (got.requests_per_s, got.output_tokens_per_s) == (0.75, 1.5)
    assert (got.prompt_tokens, got.output_tokens) == (200.0, 2.0)
    # numpy.percentile([0.5, 1.0, 2.0], [50, 95, 99]) = 1.0, 1.9, 1.98
    assert got.e2e_s is not None
    assert got.e2e_s.n == 3
    found = (got.e2e_s.mean, got.e2e_s.p50, got.e2e_s.p95, got.e2e_s.p99)
    assert found == pytest.approx((3.5 / 3, 1.0, 1.9, 1.98))
    assert got.tpot_s is not None  # 0.25 and 1.0; the answer of one token has none
    assert (got.tpot_s.n, got.tpot_s.p50) == (2, 0.625)
    assert got.itl_s is not None
    assert (got.itl_s.n, got.itl_s.p50) == (3, 0.25)
    assert got.cached_share is None


def test_nothing_that_worked_gives_no_figures_rather_than_zeros() -> None:
    got = summarise([ROWS[2]], 4.0)
    assert (got.completed, got.failed, got.requests_per_s) == (0, 1, 0.0)
    assert (got.ttft_s, got.tpot_s, got.itl_s, got.e2e_s) == (None,) * 4
    assert (got.prompt_tokens, got.output_tokens, got.cached_share) == (None,) * 3
    assert spread([]) is None


def test_the_cached_share_is_the_answers_word_before_the_counters() -> None:
    told = [
        made(0, 1.0, prompt_tokens=100, cached_tokens=0),
        made(1, 1.0, prompt_tokens=300, cached_tokens=200),
    ]
    assert summarise(told, 1.0, cached_by_metrics=0.9).cached_share == 0.5
    partly = [*told, made(2, 1.0, prompt_tokens=300)]
    assert summarise(partly, 1.0, cached_by_metrics=0.9).cached_share == 0.9
    assert summarise(partly, 1.0).cached_share is None


def test_every_figure_is_defined() -> None:
    fields = {"ttft_s", "tpot_s", "itl_s", "e2e_s", "requests_per_s", "output_tokens_per_s"}
    assert fields <= DEFINITIONS.keys()
