"""The soak's gate on the time that ragkit adds, shown to fail by a delay."""

from __future__ import annotations

import pytest

from ragkit.testing.stub_server.server import Reply, StubServer
from tests.serve import soak
from tests.serve.soak import Added, latency_problems, measure_added


def test_a_delay_that_comes_during_the_run_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "PAIRS", 5)
    delays = [0.0]
    with (
        StubServer(lambda messages: "Four.", models=("stub",)) as model,
        StubServer(
            lambda messages: Reply("Four.", prefill_s=delays[0]), models=("ragkit",)
        ) as slow,
    ):
        before = measure_added(model.url, slow.url)
        assert latency_problems(before, before) == []
        delays[0] = 0.5
        assert len(latency_problems(before, measure_added(model.url, slow.url))) == 2


def test_growth_of_either_and_too_much_of_it_are_problems() -> None:
    warm = Added(0.1, 0.2)
    assert latency_problems(warm, Added(0.25, 0.5)) == []
    (problem,) = latency_problems(warm, Added(0.1, 0.7))
    assert problem == "the added time's p95 grew from 0.200 to 0.700 s"
    assert len(latency_problems(warm, Added(0.4, 0.5))) == 1
    assert len(latency_problems(Added(1.9, 1.9), Added(2.1, 2.1))) == 2
    assert latency_problems(Added(0.001, 0.002), Added(0.02, 0.04)) == []
