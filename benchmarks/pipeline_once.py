"""One ingestion, measured in a process of its own; benchmarks/pipeline.py starts it.

python -m benchmarks.pipeline_once HOME FOLDER free|real ROUNDS MODEL. Prints JSON: seconds, CPU
seconds by process, of them those after the last document was stored, and the peak of memory, for
each of so many rounds over the folder.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.processes import cpu_s, server_cpu_s
from ragkit import Settings
from ragkit.embed import local
from ragkit.embed.local import LocalEmbedder
from ragkit.store.postgres import PostgresStore
from ragkit_ingest import ingest

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.embed.contract import Row

DIMENSION = 384


def main(home: str, folder: str, embedder: str, rounds: str, model: str) -> None:
    settings = Settings(home=Path(home), embed_model=model)
    local._load = lru_cache(local._load)  # loaded before the clock starts
    with tempfile.TemporaryDirectory() as small:
        Path(small, "warm.txt").write_text("Warm up.")
        ingest([small], settings=settings, collection="warm-up")  # the server stays up a while
    if embedder == "free":
        LocalEmbedder.embed_ids = _free  # type: ignore[method-assign]
    print(json.dumps([_once(settings, folder) for _ in range(int(rounds))]))


def _once(settings: Settings, folder: str) -> dict[str, Any]:
    began, finishing = Moment.now(settings.home), []
    finish = PostgresStore.finish_load

    def finish_load(*arguments: Any) -> None:
        finishing.append(Moment.now(settings.home))
        finish(*arguments)

    setattr(PostgresStore, "finish_load", finish_load)  # noqa: B010  it is another's signature
    report = ingest([folder], settings=settings, collection="bench")
    setattr(PostgresStore, "finish_load", finish)  # noqa: B010
    ended = Moment.now(settings.home)
    assert not report.failures, report.failures[:3]
    stored = finishing[0] if finishing else ended
    # A parser's time is known when it has ended, at the end: it has done nothing after `stored`.
    return {
        "seconds": stored.at - began.at,
        "finish_s": ended.at - stored.at,
        "added": report.added,
        "chunks": report.chunks,
        "unchanged": report.unchanged,
        "busy": report.busy,
        "own_cpu_s": stored.own - began.own,
        "parser_cpu_s": ended.ended - began.ended,
        "database_cpu_s": stored.database - began.database,
        "finish_cpu_s": ended.own - stored.own + ended.database - stored.database,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, and the seconds of processor time up to it, by process."""

    at: float
    own: float
    ended: float
    database: float

    @classmethod
    def now(cls, home: Path) -> Moment:
        """Look at the clocks."""
        return cls(perf_counter(), *cpu_s(), server_cpu_s(home))


def _free(_: LocalEmbedder, rows: Sequence[Row]) -> Vectors:
    """Return as many unit vectors as are asked for, at once."""
    import numpy as np

    return np.full((len(rows), DIMENSION), DIMENSION**-0.5, np.float32)


if __name__ == "__main__":
    main(*sys.argv[1:])
