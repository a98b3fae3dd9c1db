"""What is summed over a run's records: rates, times, tokens and money."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.errors import ModelServerError, UsageError
from ragkit.model.limits import bounded
from ragkit_eval.answers import (
    Cost,
    Latency,
    Prices,
    Rates,
    latency,
    percentile,
    rates,
    tokens_and_cost,
)
from ragkit_eval.endpoint.failures import of_connection, of_status
from ragkit_eval.run.record import Record


def near(value: float) -> Any:
    """A value that equals its neighbours, as a field of an expected result."""
    return pytest.approx(value)


def failed(error: str) -> Record:
    return Record("rag", "1", "k", "error", error=error)


def ended(output: str, finish: str = "stop") -> Record:
    return Record("rag", "1", "k", "wrong", output=output, finish=finish)


def timed(latency_s: float, first_token_s: float | None = None) -> Record:
    return Record("rag", "1", "k", "ok", latency_s=latency_s, first_token_s=first_token_s)


def used(**usage: int) -> Record:
    return Record("rag", "1", "k", "ok", usage=usage)


def test_rates_are_shares_of_all_items() -> None:
    records = [
        ended("42"),
        ended(" \n"),
        ended("", "length"),
        ended("很长的", "length"),
        failed("the server failed (500): see its log"),
        failed("the server failed (504; Gateway Time-out): see its log"),
        failed("the server sent nothing for 120 s: see its load"),
        failed("could not be scored: no such thing"),
    ]
    assert rates(records) == Rates(error=4 / 8, timeout=2 / 8, empty=2 / 8, cut=2 / 8)
    assert rates([ended("42")]) == Rates(0.0, 0.0, 0.0, 0.0)
    with pytest.raises(UsageError, match="no items"):
        rates([])


def test_timeouts_are_told_by_the_words_that_errors_really_have() -> None:
    async def slow() -> AsyncGenerator[str]:
        await asyncio.sleep(60)
        yield ""

    async def wait() -> None:
        async for _ in bounded(slow(), 0.001, "the model"):
            pass

    with pytest.raises(ModelServerError) as late:
        asyncio.run(wait())
    unreachable = of_status(503, {}, "overloaded", None).error("s")
    silent = of_connection(TimeoutError(), 5.0).error("s")
    records = [failed(str(error)) for error in (late.value, silent, unreachable)]
    assert [rates([record]).timeout for record in records] == [1.0, 1.0, 0.0]


def test_latency_by_hand() -> None:
    times = [timed(4.0, 0.5), timed(1.0, 0.1), timed(2.0), timed(3.0, 0.3)]
    left_out = [failed("no"), timed(0.0)]
    assert latency([*times, *left_out]) == Latency(
        p50=2.5,
        p90=near(3.7),
        p95=near(3.85),
        p99=near(3.97),
        mean=2.5,
        first_token_p50=0.3,
        items=4,
    )
    assert latency(left_out) == Latency(None, None, None, None, None, None, 0)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.floats(0, 100))
def test_percentiles_are_numpys(values: list[float], p: float) -> None:
    import numpy as np

    assert percentile(values, p) == pytest.approx(float(np.percentile(values, p)), abs=1e-6)


def test_percentiles_of_nothing_and_beyond_everything() -> None:
    with pytest.raises(UsageError, match="no 50th percentile of 0 values"):
        percentile([], 50)
    with pytest.raises(UsageError, match="no 101th percentile"):
        percentile([1.0], 101)


def test_tokens_and_cost_by_hand() -> None:
    records = [
        used(prompt_tokens=1000, completion_tokens=100, cached_tokens=600),
        used(prompt_tokens=500, completion_tokens=50, cached_tokens=0),
    ]
    prices = Prices(prompt=2.0, completion=10.0, cached=0.5)
    expected = (900 * 2.0 + 600 * 0.5 + 150 * 10.0) / 1_000_000
    assert tokens_and_cost(records, prices=prices) == Cost(
        1500, 150, 600, known=2, unknown=0, cost=near(expected)
    )
    full_price = (1500 * 2.0 + 150 * 10.0) / 1_000_000
    assert tokens_and_cost(records, prices=Prices(2.0, 10.0)).cost == pytest.approx(full_price)
    assert tokens_and_cost(records).cost is None


def test_tokens_that_are_not_told_are_unknown_and_not_nothing() -> None:
    records = [
        used(prompt_tokens=1000, completion_tokens=100),
        used(prompt_tokens=1000),
        used(),
        failed("no"),
    ]
    prices = Prices(prompt=2.0, completion=10.0, cached=0.5)
    cost = tokens_and_cost(records, prices=prices)
    assert cost == Cost(1000, 100, None, known=1, unknown=3, cost=near(0.003))
    nothing = Cost(None, None, None, known=0, unknown=2, cost=None)
    assert tokens_and_cost(records[2:], prices=prices) == nothing


@pytest.mark.parametrize("price", [-0.1, float("nan"), float("inf")])
def test_prices_are_numbers_from_nothing_on(price: float) -> None:
    with pytest.raises(UsageError, match=r"the completion price is .*: it must be 0 or more"):
        Prices(prompt=1.0, completion=price)
