"""The section on Citus: its table, and that it says where it was left out."""

import doctest

import pytest

from benchmarks import cluster
from benchmarks.cluster import Measured, table
from benchmarks.cluster_nodes import ALONE, SINGLE
from tests.citus import SOURCE


def test_without_citus_the_section_says_that_it_was_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(SOURCE, raising=False)
    section = cluster.run()
    assert section.startswith("## Citus\n")
    assert f"Left out in this run: {SOURCE} names no folder" in section


def test_ratios_are_medians_of_the_rounds() -> None:
    rows = {
        ALONE: Measured([100.0, 200.0, 50.0], [400.0, 400.0, 100.0], [0.010, 0.010]),
        SINGLE: Measured([50.0, 40.0, 40.0], [100.0, 300.0, 50.0], [0.020, 0.020]),
    }
    assert table(16, rows).splitlines() == [
        "| 16 | one server | 100 | 1.00 | 400 | 1.00 | 10.0 (10.0) |",
        "| 16 | Citus, one node | 40 | 0.50 | 100 | 0.50 | 20.0 (20.0) |",
    ]


def test_examples() -> None:
    assert doctest.testmod(cluster).failed == 0
