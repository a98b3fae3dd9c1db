"""A whole benchmark: every level of a server, then the baseline, into one record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ragkit import __version__
from ragkit.errors import ModelServerError
from ragkit.model.failures import explain, foreign_errors
from ragkit.model.server import ModelServer, served
from ragkit_serve.model.bench.baseline import measure_baseline
from ragkit_serve.model.bench.load import Progress, Target, level_mark, measure
from ragkit_serve.model.bench.machine import machine
from ragkit_serve.model.bench.record import FORMAT, VERSION, Level, Record, Run
from ragkit_serve.model.bench.summary import DEFINITIONS
from ragkit_serve.model.bench.workload import Workload

Watch = Callable[[str, int], AbstractContextManager[Progress]]


@contextmanager
def unwatched(what: str, total: int) -> Iterator[Progress]:
    """Show no progress."""
    yield lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A model's folder or hub name for transformers, and how many of the prompts it is asked."""

    model: str
    requests: int = 16


def benchmark(
    workload: Workload,
    about: Mapping[str, Any],
    *,
    target: Target | None = None,
    levels: Sequence[Level] = (),
    baseline: Baseline | None = None,
    seed: int = 0,
    watch: Watch = unwatched,
) -> Record:
    """Measure each level of the target and the baseline; `about` describes the workload.

    Raises ModelServerError, ModelError when a server or model answers nothing at all.
    """
    runs: list[Run] = []
    for level in levels if target is not None else ():
        assert target is not None
        with watch(f"load {level}", len(workload.prompts)) as progress:
            runs.append(asyncio.run(measure(target, workload, level, seed=seed, progress=progress)))
    if baseline is not None:
        count = min(baseline.requests, len(workload.prompts))
        mark = target.mark if target is not None else level_mark(baseline.model, str(seed))
        with watch("transformers", count) as progress:
            runs.append(
                measure_baseline(baseline.model, workload, count, mark=mark, progress=progress)
            )
    return Record(
        format=FORMAT,
        version=VERSION,
        ragkit=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine(),
        settings=_settings(target),
        workload={"hash": workload.hash, **about, **_answers(workload)},
        definitions=DEFINITIONS,
        runs=tuple(runs),
    )


def _settings(target: Target | None) -> dict[str, Any]:
    if target is None:
        return {"url": None}
    return {"url": target.server.shown, "timeout_s": target.timeout_s, "temperature": 0.0}


def _answers(workload: Workload) -> dict[str, Any]:
    return {
        "requests": len(workload.prompts),
        "answer_tokens": workload.answer_tokens,
        "ignore_eos": workload.ignore_eos,
    }


def model_of(server: ModelServer, wanted: str | None) -> str:
    """Return the model to measure: the wanted one, or what the server names first.

    Raises ModelServerError when the server cannot be asked or serves nothing.
    """
    if wanted is not None:
        return wanted

    async def ask() -> str:
        try:
            models = await served(server)
        except foreign_errors() as error:
            raise ModelServerError(str(await explain(error, server))) from error
        if not models:
            raise ModelServerError(
                f"language-model server {server.shown} names no model: give one by --model"
            )
        return models[0].name

    return asyncio.run(ask())
