"""The sizes that a section measures, and what was measured of each, kept between runs.

BENCH_ROWS names the sizes to measure; the results of others, kept from earlier runs, stand in the
tables beside them. BENCH_CONTINUE=1 leaves out what an earlier run of the same size finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parent / "out"
USUAL = (10_000, 100_000)


def sizes() -> list[int]:
    """Return the sizes to measure in this run."""
    return [int(size) for size in os.environ.get("BENCH_ROWS", "").split()] or list(USUAL)


def keep(name: str, size: int, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Measure, and keep the result as of this part and size; numbers and texts alone."""
    path = OUT / f"{name}-{size}.json"
    if not (path.exists() and os.environ.get("BENCH_CONTINUE")):
        OUT.mkdir(exist_ok=True)
        path.write_text(json.dumps(measure()), encoding="utf-8")
    return _read(path)


def kept(name: str) -> dict[int, dict[str, Any]]:
    """Return what is kept of a part, by size, smallest first."""
    found = {
        int(path.stem.removeprefix(f"{name}-")): path for path in OUT.glob(f"{name}-[0-9]*.json")
    }
    return {size: _read(found[size]) for size in sorted(found)}


def _read(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result
