"""The tables of `make test-times`, and what a run says of the tests that it left out."""

import json
from pathlib import Path

import pytest

from tests.times import read, tables

pytest_plugins = ["pytester"]

LINES = [
    ["tests/a.py::test_slow", "setup", 2.0, "passed"],
    ["tests/a.py::test_slow", "call", 5.5, "passed"],
    ["tests/a.py::test_slow", "teardown", 0.5, "passed"],
    ["tests/b.py::test_quick", "call", 0.25, "failed"],
    ["tests/a.py::test_other", "call", 1.0, "passed"],
]


def test_time_is_summed_by_step_file_and_test() -> None:
    times = read(map(json.dumps, LINES))
    assert {name: test.total for name, test in times.items()} == {
        "tests/a.py::test_slow": 8.0,
        "tests/b.py::test_quick": 0.25,
        "tests/a.py::test_other": 1.0,
    }
    rows = [line.split() for line in tables({"test": (12.4, times)})]
    assert rows[1] == ["test", "12", "3", "9", "2"]
    assert rows[4:6] == [["9.0", "2", "tests/a.py"], ["0.2", "1", "tests/b.py"]]
    assert rows[8:] == [
        ["8.0", "2.0", "tests/a.py::test_slow"],
        ["1.0", "0.0", "tests/a.py::test_other"],
        ["0.2", "0.0", "tests/b.py::test_quick"],
    ]


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "side by side"])
def test_a_run_says_what_it_left_out_and_how_long_it_took(
    workers: list[str], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\nmarkers =\n    long: l\n    vllm: v\n    other: o\n")
    pytester.makepyfile(
        "import pytest\n"
        "def test_a(): pass\n"
        "@pytest.mark.long\ndef test_b(): pass\n"
        "@pytest.mark.long\n@pytest.mark.parametrize('n', [1, 2])\ndef test_c(n): pass\n"
        "@pytest.mark.vllm\ndef test_d(): pass\n"
        "@pytest.mark.other\ndef test_e(): pass\n"
    )
    log = Path(pytester.path, "times.jsonl")
    monkeypatch.setenv("RAGKIT_TEST_TIMES", str(log))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    chosen = "not long and not vllm and not other"
    result = pytester.runpytest_inprocess("-p", "tests.reporting", "-m", chosen, *workers)
    result.assert_outcomes(passed=1, deselected=0 if workers else 5)
    result.stdout.fnmatch_lines(
        [
            "left out: 3 marked long (make test-long)",
            "left out: 1 marked vllm (make test-vllm)",
        ]
    )
    phases = [json.loads(line)[:2] for line in log.read_text("utf-8").splitlines()]
    assert [phase for _, phase in phases] == ["setup", "call", "teardown"]
    assert {test.rpartition("::")[2] for test, _ in phases} == {"test_a"}
