"""Training on half of a set's labelled questions, proven on the other half, as a user would do it.

Everything is done by `ragkit ingest` and `ragkit tune`; what comes out is written down, whatever it
is. A part is run by its name: `python -m benchmarks tuning reranker`. It takes from 20 minutes to
an hour on two cores, so that this section is left out unless it is named.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks import tuning_overhead, tuning_pruned
from benchmarks.data import cmrc, cranfield
from benchmarks.homes import home
from benchmarks.tuning_home import Timed, Workshop, options_of, part_of
from benchmarks.tuning_verdict import verdict_lines
from ragkit.embed.bundled import NAME as BILINGUAL
from ragkit.embed.find import MINILM
from ragkit_eval.sets import LabelledSet

TITLE = "Training on your own questions"
TEST_SHARE = 0.5
RUN = "trained"
IN_BATCH = {"negatives": 0, "precision": "bf16"}  # the others of a batch alone: half the time
HEAD = f"""## {TITLE}

`ragkit tune data --test-share {TEST_SHARE:g}` divides a set's labelled questions by clusters of
documents: a tenth chooses the checkpoint, about half prove, the others are trained on. No document
that answers a question of one of these is trained on for another, so that of questions that share
their answers' documents many rows are left out. `ragkit tune embedder` and `reranker` train and
prove by hybrid search, on the set's documents and on the example handbook, which guards against
forgetting. *Dev*: nDCG@10 among the passages of the dev set alone, by which the checkpoint was
chosen. Times are from a machine that others used too; processor minutes are those of the command
and what it started.
"""


@dataclass(frozen=True, slots=True)
class Training:
    """A model to be trained and proven on one set; `every` takes one question of so many.

    The options were chosen on the dev rows alone, or for two cores.
    """

    title: str
    about: str
    collection: str
    labelled: Callable[[], LabelledSet]
    kind: Literal["embedder", "reranker"]
    model: str  # that embeds
    base: str  # that is trained
    every: int = 1
    documents: int = 0  # the first so many of the set; 0 for all
    max_tokens: int = 256
    options: Mapping[str, object] = field(default_factory=dict)


TRAININGS = {
    "embedder-cranfield": Training(
        "An English embedder, on Cranfield",
        "225 questions with about seven graded documents each. Two recipes were tried on the dev"
        " rows alone: at a learning rate of 5e-5 nDCG@10 fell from 0.648 to 0.645 and 0.636, so"
        " that of the default was proven. Before false negatives were kept out of batches it gave"
        " +0.002 by hybrid search and +0.015 by vectors alone on the same questions.",
        "cranfield",
        cranfield,
        "embedder",
        MINILM,
        MINILM,
        options={**IN_BATCH, "steps": 24, "evaluate_every": 12},
    ),
    "embedder-cmrc": Training(
        "A Chinese embedder, on CMRC 2018",
        "The first 300 paragraphs, and every second question about them; each has one paragraph.",
        "cmrc",
        cmrc,
        "embedder",
        BILINGUAL,
        BILINGUAL,
        every=2,
        documents=300,
        max_tokens=512,
        options={**IN_BATCH, "max_tokens": 512, "batch": 16, "steps": 24, "evaluate_every": 12},
    ),
    "reranker": Training(
        "A reranker, on Cranfield",
        "The same questions. MiniLM gets a head that scores, which begins at random.",
        "cranfield",
        cranfield,
        "reranker",
        MINILM,
        MINILM,
        options={"precision": "bf16", "batch": 16, "steps": 30, "evaluate_every": 30},
    ),
}
OTHERS = {"pruned": tuning_pruned, "overhead": tuning_overhead}
PARTS = (*TRAININGS, *OTHERS)


def run(parts: Sequence[str] = (), before: str = "") -> str:
    """Run parts, all unless named, and return the section; others stay as `before` has them."""
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        sys.exit(f"no part named {', '.join(unknown)}: there are {', '.join(PARTS)}")
    sections = dict(_sections(before))
    for name in parts or PARTS:
        with home(f"tuning-{name}") as folder:
            other = OTHERS.get(name)
            lines = other.run(folder) if other else _run(TRAININGS[name], folder)
            text = "\n".join(lines).strip() + "\n"
        title = text.partition("\n")[0]
        sections[title] = text
        print(text, flush=True)
    order = [f"### {training.title}" for training in TRAININGS.values()]
    order += [f"### {module.TITLE}" for module in OTHERS.values()]
    return "\n".join([HEAD, *(sections[title] for title in order if title in sections)])


def _sections(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^(?=### )", text, flags=re.MULTILINE)[1:]:
        yield part.partition("\n")[0], part.strip() + "\n"


def _run(training: Training, folder: Path) -> Iterator[str]:
    shop, name = Workshop(folder, training.model), training.collection
    questions = shop.ingest(part_of(training.labelled(), training.every, training.documents), name)
    rows = folder / "rows"
    making = ("tune", "data", "-c", name, "--set", str(questions), "--out", str(rows))
    sizes = ("--test-share", str(TEST_SHARE), "--max-tokens", str(training.max_tokens))
    made = shop.step("rows", lambda: shop.ragkit(*making, *sizes))
    named = ("--base", training.base, "--data", str(rows), "--name", RUN, "--no-proof")
    command = ("tune", training.kind, *named, *options_of(training.options))
    trained = shop.step("train", lambda: _finished(shop.ragkit(*command)))
    shown = shop.step("runs-show", lambda: shop.ragkit("tune", "runs", "show", RUN))
    proven = shop.step("prove", lambda: shop.ragkit("tune", "prove", RUN))
    yield f"### {training.title}\n"
    yield f"{training.about} {_rows_line(made.printed, rows)}\n"
    yield f"{_recipe_line(trained, shown.printed, proven)}\n"
    yield from verdict_lines(proven.printed)


def _finished(printed: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a run printed, or end the program: a stopped run's model says nothing."""
    if printed["state"] != "finished":
        raise SystemExit(f"run {printed['name']} is {printed['state']}: remove {printed['folder']}")
    return printed


def _rows_line(card: Mapping[str, Any], rows: Path) -> str:
    counts, clusters = card["counts"], card["clusters"]
    lines = (rows / "train.jsonl").read_text(encoding="utf-8").splitlines()
    asked = len({_query(line) for line in lines})
    left_out = sum(card["left_out"].values())
    return (
        f"{counts['train']} rows of {asked} questions were trained on, {counts['dev']} rows chose"
        f" the checkpoint, and {counts['test']} questions proved, whose documents are"
        f" {clusters['test']} clusters. {left_out} rows were left out."
    )


def _query(line: str) -> str:
    return str(json.loads(line)["query"])


def _recipe_line(trained: Timed, shown: Mapping[str, Any], proven: Timed) -> str:
    recipe, measured = shown["recipe"], shown["dev"]
    first, best = measured[0], max(measured[1:], key=lambda row: row["dev"]["ndcg@10"])
    return (
        f"Base {recipe['base']}, loss {recipe['loss']}, {shown['steps']} steps of"
        f" {recipe['batch']} rows of up to {recipe['max_tokens']} tokens with"
        f" {recipe['negatives']} hard negatives each, learning rate {recipe['learning_rate']:g}:"
        f" {trained.minutes:.0f} minutes ({trained.cpu_minutes:.1f} of processors), the proof"
        f" {proven.minutes:.0f} ({proven.cpu_minutes:.1f}). Dev: {first['dev']['ndcg@10']:.3f}"
        f" before, {best['dev']['ndcg@10']:.3f} at best, after {best['step']} steps,"
        " whose model was proven."
    )
