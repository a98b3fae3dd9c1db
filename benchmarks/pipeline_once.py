"""One ingestion, measured in a process of its own; benchmarks/pipeline.py starts it.

python -m benchmarks.pipeline_once HOME FOLDER free|real ROUNDS. Prints JSON: seconds, CPU seconds
by process and the peak of memory, for each of so many rounds over the folder.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.processes import cpu_s, server_cpu_s
from ragkit import Settings
from ragkit.embed import local
from ragkit.embed.local import LocalEmbedder
from ragkit_ingest import ingest

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.embed.contract import Row

DIMENSION = 384


def main(home: str, folder: str, embedder: str, rounds: str) -> None:
    settings = Settings(home=Path(home))
    local._load = lru_cache(local._load)  # loaded before the clock starts
    with tempfile.TemporaryDirectory() as small:
        Path(small, "warm.txt").write_text("Warm up.")
        ingest([small], settings=settings, collection="warm-up")  # the server stays up a while
    if embedder == "free":
        LocalEmbedder.embed_ids = _free  # type: ignore[method-assign]
    print(json.dumps([_once(settings, folder) for _ in range(int(rounds))]))


def _once(settings: Settings, folder: str) -> dict[str, Any]:
    database, began = server_cpu_s(settings.home), cpu_s()
    clock = perf_counter()
    report = ingest([folder], settings=settings, collection="bench")
    seconds = perf_counter() - clock
    ended = cpu_s()
    assert not report.failures, report.failures[:3]
    return {
        "seconds": seconds,
        "added": report.added,
        "chunks": report.chunks,
        "unchanged": report.unchanged,
        "busy": report.busy,
        "own_cpu_s": ended[0] - began[0],
        "parser_cpu_s": ended[1] - began[1],
        "database_cpu_s": server_cpu_s(settings.home) - database,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _free(_: LocalEmbedder, rows: Sequence[Row]) -> Vectors:
    """Return as many unit vectors as are asked for, at once."""
    import numpy as np

    return np.full((len(rows), DIMENSION), DIMENSION**-0.5, np.float32)


if __name__ == "__main__":
    main(*sys.argv[1:])
