"""The default model with a smaller vocabulary, proven as an embedder in both languages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import clapnq_answerable, cmrc
from benchmarks.tuning_home import Workshop, part_of
from benchmarks.tuning_verdict import verdict_lines
from ragkit.embed.bundled import NAME as BILINGUAL
from ragkit.embed.find import find_model

TITLE = "The default model with a smaller vocabulary"
LANGUAGES = "en,zh"
PARAGRAPHS = 300  # of CMRC 2018, as many as CLAPNQ has passages
COMPARED = 100  # texts of each set whose vectors are compared
ROUNDS = 5


def run(folder: Path) -> Iterator[str]:
    """Shrink, prove and compare; yield the part's lines."""
    shop = Workshop(folder)
    english = shop.ingest(clapnq_answerable(), "english")
    chinese = shop.ingest(part_of(cmrc(), 4, PARAGRAPHS), "chinese")
    model = folder / "pruned"
    shrinking = ("tune", "shrink", BILINGUAL, "--vocabulary", LANGUAGES, "--out", str(model))
    shop.step("shrink", lambda: shop.ragkit(*shrinking))
    proving = ("tune", "prove", str(model), "--set", str(english), "-c", "english")
    guard = f"{chinese}=chinese"
    proven = shop.step("prove", lambda: shop.ragkit(*proving, "--guard", guard))
    whole = find_model(BILINGUAL).folder
    loaded = shop.step("load", lambda: _loaded({"whole": whole, "pruned": model}, english, chinese))
    yield f"### {TITLE}\n"
    yield (
        f"`ragkit tune shrink {BILINGUAL} --vocabulary {LANGUAGES}`, proven on CLAPNQ and, as a"
        f" guard, on questions about {PARAGRAPHS} paragraphs of CMRC 2018; nothing was trained."
        f" Loading: medians of {ROUNDS} processes in turns, from the import of ragkit to the first"
        f" vector; memory is the most that such a process had.\n"
    )
    yield from _sizes(loaded.printed, {"whole": whole, "pruned": model})
    yield ""
    yield from verdict_lines(proven.printed)


def _loaded(models: Mapping[str, Path], *sets: Path) -> dict[str, Any]:
    """Load each model in processes of its own, in turns, and compare the vectors of both."""
    texts = [text for file in sets for text in _questions(file)]
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in models}
    for n in range(ROUNDS + 1):
        for name, model in models.items():
            command = [sys.executable, "-m", "benchmarks.tuning_load", str(model)]
            asked = json.dumps(texts if n == 0 else texts[:1])
            printed = subprocess.run(
                command, input=asked, capture_output=True, text=True, check=True
            ).stdout
            runs[name].append(json.loads(printed))
    first, second = (rows[0]["vectors"] for rows in runs.values())
    pairs = zip(first, second, strict=True)
    largest = max(abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True))
    figures = {
        name: {key: median(row[key] for row in rows[1:]) for key in ("cpu_s", "megabytes")}
        for name, rows in runs.items()
    }
    return {"texts": len(texts), "largest": largest, **figures}


def _questions(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()[:COMPARED]
    return [str(json.loads(line)["question"]) for line in lines]


def _sizes(loaded: Mapping[str, Any], models: Mapping[str, Path]) -> Iterator[str]:
    yield "| model | weights, MB | load, processor s | memory, MB |"
    yield "|---|---|---|---|"
    for name, model in models.items():
        weights = sum(file.stat().st_size for file in model.rglob("*.safetensors")) / 1e6
        figures = loaded[name]
        yield f"| {name} | {weights:.0f} | {figures['cpu_s']:.1f} | {figures['megabytes']:.0f} |"
    largest = f"by {loaded['largest']:.1g} at most in any dimension"
    differ = f"differ {largest}" if loaded["largest"] else "are equal"
    yield f"\nThe vectors of {loaded['texts']} questions {differ}."
