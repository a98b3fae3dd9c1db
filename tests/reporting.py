"""What a run of the tests says besides: which tests it left out, and how long each one took.

With RAGKIT_TEST_TIMES=FILE each phase of each test is appended to the file as a line of JSON:
[test, phase, seconds, outcome]. `make test-times` reads them.
"""

import json
import os
from collections import Counter
from typing import Any, Final

import pytest

from tests.reach import MARKS

_LEFT_OUT: Final[pytest.StashKey[Counter[str]]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LEFT_OUT] = Counter()


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        marks = [mark for mark in MARKS if item.get_closest_marker(mark)]
        item.config.stash[_LEFT_OUT].update(marks[-1:])


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        counts: Counter[str] = session.config.stash[_LEFT_OUT]
        output["left_out"] = dict(counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the counts of a worker; all workers collect the same tests."""
    output = getattr(node, "workeroutput", {})
    node.config.stash[_LEFT_OUT] = Counter(output.get("left_out", {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for mark, count in sorted(config.stash[_LEFT_OUT].items()):
        terminalreporter.write_line(f"left out: {count} marked {mark} (make test-{mark})")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    file = os.environ.get("RAGKIT_TEST_TIMES")
    if file and "PYTEST_XDIST_WORKER" not in os.environ:  # workers tell the main process
        line = json.dumps([report.nodeid, report.when, round(report.duration, 4), report.outcome])
        with open(file, "a", encoding="utf-8") as times:
            times.write(f"{line}\n")
