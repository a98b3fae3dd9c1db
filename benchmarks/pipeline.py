"""ragkit's own pipeline: how fast it is when embedding costs nothing, and how it keeps up.

Each measurement is a process and a database of its own. Peers are in ingestion.py.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.data import chunking
from benchmarks.homes import home
from ragkit.embed.bundled import NAME
from ragkit.embed.find import MINILM
from ragkit.store.server.embedded import EmbeddedServer

SEED = 7
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Load:
    """So many files of about so many characters each, embedded for free or by the model.

    Either way they are split into the model's tokens.
    """

    name: str
    files: int
    chars: int
    embedder: str = "free"
    rounds: int = 1
    model: str = MINILM


LOADS = (
    Load("large files", 16, 1_000_000),
    Load("medium files", 400, 30_000),
    Load("small files", 2_000, 1_500, rounds=2),
    Load("large files, e5", 16, 1_000_000, model=NAME),
    Load("small files, e5", 2_000, 1_500, model=NAME),
    Load("MiniLM, medium files", 8, 30_000, "real", rounds=2),
)
MANY = (100, 1_000, 10_000, 40_000)  # files of 2 KB, over which memory is to stay flat


def run() -> str:
    paragraphs = [
        part for text in chunking().documents.values() for part in text.split("\n") if part.strip()
    ]
    measured = {load: measure(load, paragraphs) for load in LOADS}
    many = {
        files: measure(Load(f"{files} files", files, 2_000), paragraphs)[0]["peak_mb"]
        for files in MANY
    }
    return table(measured, many)


def measure(load: Load, paragraphs: Sequence[str]) -> list[dict[str, Any]]:
    """Take a load in, as often as it says; what was measured of each round."""
    with home("pipeline") as place, TemporaryDirectory() as folder:
        for number, text in enumerate(texts(load, paragraphs)):
            Path(folder, f"{number:05}.txt").write_text(text, encoding="utf-8")
        command = (sys.executable, "-m", "benchmarks.pipeline_once", str(place), folder)
        with EmbeddedServer.open(place):
            done = subprocess.run(
                [*command, load.embedder, str(load.rounds), load.model],
                capture_output=True,
                text=True,
                cwd=ROOT,
                env={k: v for k, v in os.environ.items() if not k.startswith("RAGKIT_")},
                check=False,
            )
    if done.returncode:
        raise SystemExit(f"{load.name} failed:\n{done.stderr[-2000:]}")
    rounds: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    print(f"{load.name}: {rounds}", flush=True)
    return rounds


def texts(load: Load, paragraphs: Sequence[str]) -> Iterator[str]:
    """Draw texts of paragraphs, the same ones each time."""
    drawn = random.Random(SEED)
    for _ in range(load.files):
        parts: list[str] = []
        size = 0
        while size < load.chars:
            parts.append(drawn.choice(paragraphs)[: load.chars])
            size += len(parts[-1]) + 2
        yield "\n\n".join(parts)


def table(measured: dict[Load, list[dict[str, Any]]], many: dict[int, float]) -> str:
    lines = [
        "## The pipeline\n",
        "Paragraphs of chunking_evaluation, drawn at random into text files, taken in by `ragkit"
        " ingest` into the embedded PostgreSQL; no word was seen before, though of so few they"
        " come again sooner than in a real collection. They are cut into the tokens of MiniLM, or"
        " of the default model (e5), whose chunks are twice as large; the embedder returns vectors"
        " at once, except in the last row. *s* are those from the start to the last commit, and"
        " *finish* those after it, in which the word index is merged and the vector index built."
        " Processor time up to the last commit is that of the program itself, of its parser and of"
        " the database; two cores give two seconds of it in each that passes, to all programs"
        " together, so that *of two cores* tells how many chunks a second the same work would be"
        " if it had them alone and kept both busy.\n",
        "| | files | MB | chunks | s | chunks/s | MB/s | program | parser | database |"
        " CPU s per 1,000 chunks | of two cores | finish |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(load, rounds[0]) for load, rounds in measured.items()]
    lines += ["", *_notes(measured), *_memory(many)]
    return "\n".join(lines) + "\n"


def _row(load: Load, first: dict[str, Any]) -> str:
    seconds, chunks = first["seconds"], first["chunks"]
    cpu = [first[f"{name}_cpu_s"] for name in ("own", "parser", "database")]
    size = load.files * load.chars / 1e6
    return (
        f"| {load.name} | {load.files} | {size:.1f} | {chunks:,} | {seconds:.1f} |"
        f" {chunks / seconds:,.0f} | {size / seconds:.1f} | {cpu[0]:.1f} s | {cpu[1]:.1f} s |"
        f" {cpu[2]:.1f} s | {1000 * sum(cpu) / chunks:.2f} | {2 * chunks / sum(cpu):,.0f} |"
        f" {first['finish_s']:.1f} s |"
    )


def _notes(measured: dict[Load, list[dict[str, Any]]]) -> Iterator[str]:
    for load, rounds in measured.items():
        if len(rounds) > 1:
            first, again = (one["seconds"] + one["finish_s"] for one in rounds[:2])
            yield (
                f"- {load.name}: a second run over the unchanged files took {again:.2f} s,"
                f" {first / again:.0f} times less."
            )
        if load.embedder == "real":
            share = rounds[0]["busy"]["embed"] / rounds[0]["seconds"]
            yield f"- {load.name}: the embedder was at work {share:.0%} of the time."


def _memory(many: dict[int, float]) -> Iterator[str]:
    peaks = ", ".join(f"{peak:.0f} MB of {files:,} files" for files, peak in many.items())
    yield f"- Peak memory of the ingesting process, the model in it: {peaks}, of 2 KB each."
