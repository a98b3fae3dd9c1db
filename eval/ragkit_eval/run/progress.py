"""How far a run is, on standard error: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

from ragkit_eval.run.runner import Counts, Progress

_EVERY_S = 10.0  # arbitrary: a log that is readable afterwards
_BAR_EVERY_S = 0.1


@contextmanager
def shown_progress(stream: TextIO | None = None) -> Iterator[Progress]:
    """Yield what shows counts as they come, with the rate and the time left."""
    stream = sys.stderr if stream is None else stream
    with _bar(stream) if stream.isatty() else _lines(stream) as progress:
        yield progress


def said(counts: Counts, elapsed_s: float) -> str:
    """Write counts in words; only what was answered in `elapsed_s` counts for the rate.

    >>> said(Counts(total=200, ok=60, wrong=30, errors=10, kept=20), 8.0)
    '100 of 200 items (50%), 10 a second, 10 s left, 10 errors'
    """
    share = f"{100 * counts.done / counts.total:.0f}%" if counts.total else "100%"
    parts = [f"{counts.done:,} of {counts.total:,} items ({share})"]
    answered = counts.done - counts.kept - counts.reused
    if answered > 0 and elapsed_s > 0:
        rate = answered / elapsed_s
        parts.append(f"{rate:.3g} a second" if rate < 100 else f"{rate:.0f} a second")
        if counts.done < counts.total:
            parts.append(f"{_duration((counts.total - counts.done) / rate)} left")
    if counts.errors:
        parts.append(f"{counts.errors:,} error{'s' * (counts.errors > 1)}")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def _lines(stream: TextIO) -> Iterator[Progress]:
    began = shown = monotonic()
    last: Counts | None = None

    def show(counts: Counts) -> None:
        nonlocal shown, last
        last = counts
        if monotonic() - shown >= _EVERY_S:
            shown = monotonic()
            print(f"ragkit: {said(counts, shown - began)}", file=stream, flush=True)

    try:
        yield show
    finally:
        if last is not None:
            print(f"ragkit: {said(last, monotonic() - began)}", file=stream, flush=True)


@contextmanager
def _bar(stream: TextIO) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    began, shown = monotonic(), 0.0
    columns = (BarColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(file=stream), auto_refresh=False) as bar:
        task = bar.add_task("", total=None)

        def show(counts: Counts) -> None:
            nonlocal shown
            now = monotonic()
            if now - shown >= _BAR_EVERY_S or counts.done == counts.total:
                shown = now
                words = said(counts, now - began)
                bar.update(task, total=counts.total, completed=counts.done, description=words)
                bar.refresh()

        yield show
