"""A report of two runs as long as MMLU: small enough to send, made in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.eval.report import runs

MIB = 1 << 20
MEASURE = """
import resource, sys
from ragkit.cli import main
import numpy, jinja2, ragkit_eval.compare, ragkit_eval.report.page
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sys.argv = ["ragkit", "eval", "report", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.slow
def test_report_of_two_whole_mmlu_runs_is_small_and_holds_no_texts(tmp_path: Path) -> None:
    files = [
        runs.choices(
            tmp_path / f"{seed}.jsonl",
            name=f"model {seed}",
            seed=seed,
            right=0.5 + seed / 20,
            per_subject=247,  # 57 of these are 14,079, as many as MMLU's 14,042
            prompt_chars=5_000,
        )
        for seed in (1, 2)
    ]
    texts = sum(file.stat().st_size for file in files)
    assert texts > 140 * MIB
    out = tmp_path / "report.html"
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, files), "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "200 items shown, 13879 left out" in done.stderr
    assert out.stat().st_size < 3 * MIB
    # Records without their texts, twice; the files are larger than this.
    assert int(done.stdout) < 100 * MIB
