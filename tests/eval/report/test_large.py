"""A report of long runs: small enough to send, made in memory that does not hold their texts."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from ragkit_eval.run.record import read_run
from ragkit_eval.stats import resample
from tests.commands import run
from tests.eval.report import runs

MIB = 1 << 20
SUBJECTS = runs.SUBJECTS[:6]
PER_SUBJECT = 60
ITEMS = PER_SUBJECT * len(SUBJECTS)
# Two whole runs of MMLU, of 14,042 items each, then take less than 100 MiB.
RECORD_BYTES = 100 * MIB // (2 * 14_042)


def pair(folder: Path, *, prompt_chars: int) -> Sequence[Path]:
    """Write two runs like MMLU's that differ in nothing but their prompts from other pairs."""
    folder.mkdir()
    return [
        runs.choices(
            folder / f"{seed}.jsonl",
            name=f"model {seed}",
            seed=seed,
            right=0.5 + seed / 20,
            subjects=SUBJECTS,
            per_subject=PER_SUBJECT,
            prompt_chars=prompt_chars,
        )
        for seed in (1, 2)
    ]


def peak_of_report(files: Sequence[Path], out: Path) -> int:
    """Write a report that shows few items; return how many bytes were allocated at once."""
    tracemalloc.start()
    result = run("eval", "report", *map(str, files), "--items", "20", "--out", str(out))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.returncode == 0, result.stderr
    return peak


def test_records_of_a_report_are_read_without_their_texts(tmp_path: Path) -> None:
    files = pair(tmp_path / "long", prompt_chars=8_000)
    read_run(files[0], texts=False)  # what is loaded once is not counted
    tracemalloc.start()
    read = [read_run(file, texts=False) for file in files]
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert sum(len(run.records) for run in read) == 2 * ITEMS
    assert size / (2 * ITEMS) < RECORD_BYTES


def test_report_of_long_runs_is_small_and_holds_no_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Intervals hold no texts, and take long where each allocation is noted: 100 samples will do.
    few = partial(resample.resampled_sums, samples=100)
    monkeypatch.setattr(
        resample, "resampled_sums", lambda rows, *, seed, samples: few(rows, seed=seed)
    )
    short = pair(tmp_path / "short", prompt_chars=300)
    long = pair(tmp_path / "long", prompt_chars=8_000)
    texts = sum(file.stat().st_size for file in long) - sum(file.stat().st_size for file in short)
    assert texts > 4 * MIB
    out = tmp_path / "report.html"
    result = run("eval", "report", *map(str, long), "--out", str(out))
    assert result.returncode == 0, result.stderr
    assert f"200 items shown, {ITEMS - 200} left out" in result.stderr
    assert out.stat().st_size < 3 * MIB
    assert peak_of_report(long, out) - peak_of_report(short, out) < texts / 4
