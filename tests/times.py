"""Where the time of the tests goes: `python -m tests.times STEP...` (`make test-times`).

It runs `make STEP` for each step, then prints the time by step and by file and the hundred longest
tests. With FILE.jsonl instead of steps it reads what an earlier run left.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LONGEST, FILES = 100, 40
LONG_S = 5  # a test that takes longer is to be marked long


@dataclass
class Times:
    """Seconds of one test by phase: setup, call, teardown."""

    phases: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> float:
        return sum(self.phases.values())


def main(arguments: list[str]) -> int:
    """Run the steps, or read a file; print the tables; return 1 when a step failed."""
    steps: dict[str, tuple[float, dict[str, Times]]] = {}
    failed = 0
    for step in arguments:
        if step.endswith(".jsonl"):
            steps[step] = (0.0, read(Path(step).read_text("utf-8").splitlines()))
            continue
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "times.jsonl")
            log.touch()
            begin = time.monotonic()
            done = subprocess.run(["make", step], env=os.environ | {"RAGKIT_TEST_TIMES": str(log)})
            failed |= done.returncode != 0
            steps[step] = (time.monotonic() - begin, read(log.read_text("utf-8").splitlines()))
    print("\n".join(tables(steps)))
    return int(failed)


def read(lines: Iterable[str]) -> dict[str, Times]:
    """Sum the seconds of each test by phase."""
    tests: defaultdict[str, Times] = defaultdict(Times)
    for line in lines:
        test, phase, seconds, *_ = json.loads(line)
        tests[test].phases[phase] += seconds
    return tests


def tables(steps: Mapping[str, tuple[float, Mapping[str, Times]]]) -> list[str]:
    """Make the lines to print."""
    lines = [f"{'step':<14} {'seconds':>8} {'tests':>6} {'of tests':>9} {'setting up':>11}"]
    everything: dict[str, Times] = {}
    for step, (seconds, tests) in steps.items():
        spent = sum(test.total for test in tests.values())
        setup = sum(test.phases["setup"] for test in tests.values())
        lines.append(f"{step:<14} {seconds:8.0f} {len(tests):6} {spent:9.0f} {setup:11.0f}")
        everything |= tests
    files: defaultdict[str, list[float]] = defaultdict(list)
    for name, test in everything.items():
        files[name.partition("::")[0]].append(test.total)
    lines += ["", f"{'seconds':>8} {'tests':>6}  file"]
    for file, spent_in in sorted(files.items(), key=lambda item: -sum(item[1]))[:FILES]:
        lines.append(f"{sum(spent_in):8.1f} {len(spent_in):6}  {file}")
    lines += ["", f"{'seconds':>8} {'setup':>6}  test (over {LONG_S} s: to be marked long)"]
    longest = sorted(everything.items(), key=lambda item: -item[1].total)[:LONGEST]
    lines += [f"{test.total:8.1f} {test.phases['setup']:6.1f}  {name}" for name, test in longest]
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
