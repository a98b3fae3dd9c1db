"""What the guard, the log and the checks of `ragkit tune` cost, beside the trainer alone.

The peer is sentence-transformers' own trainer as its documentation starts it (`tuning_bare`), on
the same rows in the same environment, each in processes of its own and in turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import cranfield
from benchmarks.tuning_home import Workshop, options_of
from ragkit.embed.find import MINILM
from ragkit_tune.data.data_set import write_data_set

TITLE = "The guard's cost, beside the trainer alone"
ROUNDS = 3
STEPS = 60
FIRST = 5  # steps that are left out: caches fill
WORDS = 40  # of each document, which are about 60 tokens
OPTIONS = {"batch": 16, "max_tokens": 128, "steps": STEPS, "negatives": 0, "precision": "fp32",
           "evaluate_every": STEPS, "save_every": 10 * STEPS}  # fmt: skip


def run(folder: Path) -> Iterator[str]:
    """Train by both in turns; yield the part's lines."""
    shop = Workshop(folder, MINILM)
    measured = shop.step("overhead", lambda: _measure(shop)).printed
    ours, alone = (median(measured[name]) for name in ("ragkit", "alone"))
    ratios = [a / b for a, b in zip(measured["ragkit"], measured["alone"], strict=True)]
    yield f"### {TITLE}\n"
    yield (
        f"Steps {FIRST + 1} to {STEPS - 1} of all-MiniLM-L6-v2 on 320 short pairs of Cranfield,"
        f" {OPTIONS['batch']} rows a step, {ROUNDS} runs each in turns: `ragkit tune embedder`"
        " looks at each loss and gradient norm, at all weights in one of 50 steps, and writes a"
        " line with the rows of each step.\n"
    )
    yield "| trained by | a step, s (median) |"
    yield "|---|---|"
    steps = STEPS - 1 - FIRST
    yield f"| sentence-transformers' trainer alone | {alone / steps:.3f} |"
    yield f"| `ragkit tune embedder` | {ours / steps:.3f} |"
    yield ""
    yield f"Ratio: {median(ratios):.3f} (of the runs: {', '.join(f'{r:.3f}' for r in ratios)})."


def _measure(shop: Workshop) -> dict[str, list[float]]:
    rows = _write_rows(shop.folder / "overhead-rows")
    seconds: dict[str, list[float]] = {"ragkit": [], "alone": []}
    for n in range(ROUNDS):
        words = ("tune", "embedder", "--base", MINILM, "--data", str(rows), "--no-proof")
        done = shop.ragkit(*words, "--name", f"overhead-{n}", *options_of(OPTIONS))
        run_folder = Path(done["folder"])
        lines = (run_folder / "steps.jsonl").read_text("utf-8").splitlines()
        steps = {row["step"]: row["seconds"] for row in map(json.loads, lines) if "loss" in row}
        seconds["ragkit"].append(steps[STEPS - 1] - steps[FIRST])
        command = [sys.executable, "-m", "benchmarks.tuning_bare", str(run_folder / "job.json")]
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        ends = json.loads(printed.splitlines()[-1])
        seconds["alone"].append(ends[STEPS - 2] - ends[FIRST - 1])
    return seconds


def _write_rows(folder: Path) -> Path:
    labelled = cranfield()
    pairs = {
        next(iter(question.relevant)): question.text
        for question in labelled.questions
        if question.relevant
    }
    texts = {name: text for name, text in labelled.documents.items() if len(text.split()) > WORDS}
    rows: list[dict[str, Any]] = [
        _row(n, pairs.get(name, " ".join(text.split()[-12:])), text, name)
        for n, (name, text) in enumerate(texts.items())
    ]
    write_data_set(folder, "pairs", {"train": rows[:320], "dev": rows[320:352]}, {})
    return folder


def _row(number: int, query: str, text: str, name: str) -> dict[str, Any]:
    positive = " ".join(text.split()[:WORDS])
    return {
        **{"id": f"r{number}", "query": query, "positive": positive, "negatives": []},
        **{"document": name, "start": 0, "end": len(positive), "group": name, "language": "en"},
    }
