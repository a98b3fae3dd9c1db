"""A home of ragkit for one benchmark of training, and its commands as a user gives them.

Each step notes what it printed, with its time: where BENCH_HOME keeps the home, a run that broke
off goes on after the last step that ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.homes import once
from benchmarks.processes import cpu_s
from ragkit_eval.sets import LabelledSet, corpus_of, write_set


@dataclass(frozen=True, slots=True)
class Timed:
    """What a step printed as JSON, and its minutes: those that passed and those of processors.

    Processor time is that of the commands and the processes that they waited for, the database's
    apart.
    """

    printed: Any
    minutes: float
    cpu_minutes: float


@dataclass(frozen=True, slots=True)
class Workshop:
    """A folder with a home of ragkit, in which `model` embeds; "" for the default."""

    folder: Path
    model: str = ""

    def ragkit(self, *arguments: str) -> Any:
        """Run `ragkit` and read its JSON; its progress goes to standard error.

        Raises CalledProcessError.
        """
        variables = {"RAGKIT_HOME": str(self.folder)}
        if self.model:
            variables["RAGKIT_EMBED_MODEL"] = self.model
        command = [sys.executable, "-m", "ragkit", *arguments, "--json"]
        environment = {**os.environ, **variables}
        process = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        return json.loads(process.stdout)

    def step(self, name: str, work: Callable[[], Any]) -> Timed:
        """Do a step unless it is noted as done; return what was noted."""

        def measured() -> dict[str, Any]:
            began, used = perf_counter(), sum(cpu_s())
            printed = work()
            minutes, cpu = (perf_counter() - began) / 60, (sum(cpu_s()) - used) / 60
            return {"printed": printed, "minutes": minutes, "cpu_minutes": cpu}

        return Timed(**once(self.folder, f"step-{name}", measured))

    def ingest(self, labelled: LabelledSet, collection: str) -> Path:
        """Ingest a set's documents into a collection; return the file of its questions."""
        documents = self.folder / f"{collection}-documents"
        questions = self.folder / f"{collection}.jsonl"

        def work() -> Any:
            documents.mkdir(exist_ok=True)
            corpus_of(labelled, documents)
            write_set(labelled, questions)
            return self.ragkit("ingest", str(documents), "--collection", collection)

        self.step(f"ingest-{collection}", work)
        return questions


def options_of(values: Mapping[str, object]) -> list[str]:
    """Write values of a recipe as options of a command.

    >>> options_of({"steps": 30, "loss": "gist"})
    ['-o', 'steps=30', '-o', 'loss=gist']
    """
    return [part for name, value in values.items() for part in ("-o", f"{name}={value}")]


def part_of(labelled: LabelledSet, every: int, documents: int = 0) -> LabelledSet:
    """Take one question of so many, about the first so many documents; 0 for all."""
    names = list(labelled.documents)[: documents or None]
    texts = {name: labelled.documents[name] for name in names}
    asked: Sequence[Any] = [
        question
        for question in labelled.questions
        if not question.relevant.keys().isdisjoint(texts)
    ]
    return replace(labelled, documents=texts, questions=tuple(asked[::every]))
