"""MMLU as a program against a scripted server: killed, gone on with, and nothing asked twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragkit_eval.run.record import Record, read_lines
from tests.eval.endpoint.scripted import letter_of

SUBJECTS = ("anatomy", "nutrition", "virology")
QUESTIONS = 607


class Running:
    """A run under way, and how many lines it has written."""

    def __init__(self, process: "subprocess.Popen[str]", out: Path) -> None:
        self.process = process
        self._out = out
        self._read = self._lines = 0

    def wait_for(self, lines: int) -> None:
        """Wait until the file has so many lines."""
        deadline = time.monotonic() + 120
        while self._count() < lines:
            assert self.process.poll() is None, f"it ended with {self.process.returncode}"
            assert time.monotonic() < deadline, f"{self._lines} lines, not {lines}"
            time.sleep(0.01)

    def _count(self) -> int:
        if self._out.exists():
            with self._out.open("rb") as file:
                file.seek(self._read)
                while block := file.read(1 << 20):
                    self._read += len(block)
                    self._lines += block.count(b"\n")
        return self._lines


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.eval.endpoint.scripted"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@contextmanager
def started(url: str, data: Path, out: Path) -> Iterator[Running]:
    command = [sys.executable, "-m", "ragkit", "eval", "run", "mmlu", "--url", url]
    command += ["--data", str(data / "tasks"), "--out", str(out), "--json"]
    for subject in SUBJECTS:
        command += ["--group", subject]
    plain = {k: v for k, v in os.environ.items() if not k.startswith("RAGKIT_")}
    with subprocess.Popen(
        command, env=plain, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Running(process, out)
        finally:
            process.kill()


def test_a_killed_run_goes_on_and_asks_nothing_twice(url: str, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    with started(url, data, out) as first:
        first.wait_for(QUESTIONS // 4)
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
    kept = out.read_bytes()
    whole = kept.count(b"\n") - 1
    assert QUESTIONS // 4 - 1 <= whole < QUESTIONS
    if kept.endswith(b"\n"):  # nearly always, as a line is one write; so tear it by hand
        out.write_bytes(kept[:-100])

    with started(url, data, out) as second:
        told, said = second.process.communicate(timeout=60)
    assert second.process.returncode == 0, said
    (summary,) = json.loads(told)["tasks"]
    assert (summary["answered"], summary["errors"], summary["missing"]) == (QUESTIONS, 0, 0)
    assert (summary["coverage"], summary["fallback"]) == (1.0, 0.0)

    times: Counter[str] = Counter()
    right = 0
    for record in read_lines(out):
        if isinstance(record, Record):
            times[record.id] += 1
            assert record.prediction == letter_of(record.prompt)
            right += record.prediction in record.targets
    assert len(times) == QUESTIONS
    assert set(times.values()) == {1}
    assert summary["scores"]["acc"]["mean"] == pytest.approx(right / QUESTIONS, abs=1e-6)
