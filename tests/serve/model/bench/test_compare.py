"""Two runs compared: paired ratios, honest intervals, and no comparison of what is not alike."""

from dataclasses import replace

import numpy as np
import pytest

from ragkit.errors import UsageError
from ragkit_serve.model.bench.compare import Difference, compare_records, compare_runs
from ragkit_serve.model.bench.record import FORMAT, VERSION, Level, Record, Run
from ragkit_serve.model.bench.summary import Row, summarise

RANDOM = np.random.default_rng(7)
BASE = RANDOM.lognormal(0, 0.5, 60)


def made(seconds: "np.ndarray[tuple[int], np.dtype[np.float64]]", **level: int) -> Run:
    """A run whose requests wait for half of their time, then write 11 tokens."""
    rows = tuple(
        Row(number=n, group=0, start_s=0.0, e2e_s=s, ttft_s=s / 2, output_tokens=11)
        for n, s in enumerate(map(float, seconds))
    )
    return Run(
        engine="server",
        model="m",
        level=Level(**(level or {"concurrency": 4})),
        summary=summarise(rows, 1.0),
        rows=rows,
    )


def record(*runs: Run, workload: str = "abc") -> Record:
    return Record(
        format=FORMAT, version=VERSION, ragkit="0", created="", machine={}, settings={},
        workload={"hash": workload}, definitions={}, runs=runs,
    )  # fmt: skip


def by_metric(found: list[Difference]) -> dict[str, Difference]:
    return {one.metric: one for one in found}


def test_twice_as_slow_is_found_exactly_as_requests_are_paired() -> None:
    found = by_metric(compare_runs(made(BASE), made(2 * BASE)))
    assert list(found) == [
        "ttft p50", "ttft p95", "tpot p50", "tpot p95", "e2e p50", "e2e p95",
        "output tokens/s", "requests/s",
    ]  # fmt: skip
    for metric, one in found.items():
        expected = 0.5 if metric.endswith("/s") else 2.0
        assert (one.ratio, one.low, one.high) == pytest.approx((expected,) * 3)
        assert (one.n, one.verdict) == (60, "worse")
    assert found["e2e p50"].a == pytest.approx(float(np.median(BASE)))
    # Little's law: 4 slots, 11 tokens in each request's time.
    assert found["output tokens/s"].a == pytest.approx(4 * 11 / float(BASE.mean()))


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """A difference of 1.3 and one of none, found in noise; 95% intervals of 80 requests."""
    random = np.random.default_rng(11)
    truth, same = [], []
    for _ in range(20):
        a, b, c = (random.lognormal(0, 0.3, 80) for _ in range(3))
        (slower,) = [d for d in compare_runs(made(a), made(1.3 * b)) if d.metric == "requests/s"]
        (alike,) = [d for d in compare_runs(made(a), made(c)) if d.metric == "requests/s"]
        truth.append(slower.low <= 1 / 1.3 <= slower.high)
        same.append(alike.verdict == "")
    # Binomial: fewer than 16 of 20 come once in 400; a wrong half of the interval has 10 of them.
    assert sum(truth) >= 16
    assert sum(same) >= 16


def test_only_requests_that_both_completed_are_compared() -> None:
    a, b = made(BASE[:4]), made(BASE[:4])
    broken = Row(number=2, group=0, start_s=0.0, e2e_s=0.0, error="timeout")
    b = Run(
        engine="server", model="m", level=b.level, summary=b.summary,
        rows=(*b.rows[:2], broken, b.rows[3]),
    )  # fmt: skip
    assert {one.n for one in compare_runs(a, b)} == {3}
    assert compare_runs(made(BASE[:1]), made(BASE[:1])) == []


def test_an_open_load_has_no_throughput_of_its_own() -> None:
    at_rate = made(BASE, rate_per_s=2)
    assert not [one for one in compare_runs(at_rate, at_rate) if one.metric.endswith("/s")]


def test_answers_without_tokens_have_no_ratio_of_tokens() -> None:
    rows = tuple(Row(number=n, group=0, start_s=0.0, e2e_s=1.0, ttft_s=1.0) for n in range(5))
    mute = Run(
        engine="server",
        model="m",
        level=Level(concurrency=1),
        summary=summarise(rows, 1),
        rows=rows,
    )
    assert list(by_metric(compare_runs(mute, mute))) == [
        "ttft p50", "ttft p95", "e2e p50", "e2e p95", "requests/s",
    ]  # fmt: skip


def test_other_questions_or_other_levels_are_not_compared() -> None:
    one, two = made(BASE, concurrency=1), made(BASE, concurrency=2)
    with pytest.raises(UsageError, match="the workloads differ"):
        compare_records(record(one), record(one, workload="abd"))
    with pytest.raises(UsageError, match="no level in common"):
        compare_records(record(one), record(two))
    found = compare_records(record(one, two), record(two))
    assert {one.level for one in found} == {"2"}


def test_a_baseline_measured_alone_is_compared_with_every_level() -> None:
    alone = replace(made(4 * BASE[:16], concurrency=1), engine="transformers")
    levels = record(made(BASE, concurrency=1), made(BASE, concurrency=8))
    found = [one for one in compare_records(record(alone), levels) if one.metric == "e2e p50"]
    assert [(one.engine, one.level, one.n) for one in found] == [
        ("server", "1", 16),
        ("server", "8", 16),
    ]
    assert [one.ratio for one in found] == pytest.approx([0.25, 0.25])


def test_the_same_files_give_the_same_intervals() -> None:
    a, b = made(BASE), made(RANDOM.permutation(BASE))
    assert compare_runs(a, b) == compare_runs(a, b)
