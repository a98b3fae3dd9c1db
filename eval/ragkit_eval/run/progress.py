"""Show a run's progress on standard error: a bar in a terminal, else a line now and then."""

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
    """Yield a function that shows counts, with the rate and the remaining time."""
    stream = sys.stderr if stream is None else stream
    with _show_bar(stream) if stream.isatty() else _print_lines(stream) as progress:
        yield progress


def describe_counts(counts: Counts, elapsed_s: float) -> str:
    """Describe counts in words; the rate counts only the items answered in `elapsed_s`.

    >>> describe_counts(Counts(total=200, ok=60, wrong=30, errors=10, kept=20), 8.0)
    '100 of 200 items (50%), 10 a second, 10 s left, 10 errors'
    """
    share = f"{100 * counts.done / counts.total:.0f}%" if counts.total else "100%"
    parts = [f"{counts.done:,} of {counts.total:,} items ({share})"]
    answered = counts.done - counts.kept - counts.reused
    if answered > 0 and elapsed_s > 0:
        rate = answered / elapsed_s
        parts.append(f"{rate:.3g} a second" if rate < 100 else f"{rate:.0f} a second")
        if counts.done < counts.total:
            parts.append(f"{_format_duration((counts.total - counts.done) / rate)} left")
    if counts.errors:
        parts.append(f"{counts.errors:,} error{'s' * (counts.errors > 1)}")
    return ", ".join(parts)


def _format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def _print_lines(stream: TextIO) -> Iterator[Progress]:
    began = printed_at = monotonic()
    last: Counts | None = None

    def show(counts: Counts) -> None:
        nonlocal printed_at, last
        last = counts
        if monotonic() - printed_at >= _EVERY_S:
            printed_at = monotonic()
            print(f"ragkit: {describe_counts(counts, printed_at - began)}", file=stream, flush=True)

    try:
        yield show
    finally:
        if last is not None:
            print(f"ragkit: {describe_counts(last, monotonic() - began)}", file=stream, flush=True)


@contextmanager
def _show_bar(stream: TextIO) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    began, drawn_at = monotonic(), 0.0
    columns = (BarColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(file=stream), auto_refresh=False) as bar:
        task = bar.add_task("", total=None)

        def show(counts: Counts) -> None:
            nonlocal drawn_at
            time = monotonic()
            if time - drawn_at >= _BAR_EVERY_S or counts.done == counts.total:
                drawn_at = time
                description = describe_counts(counts, time - began)
                bar.update(task, total=counts.total, completed=counts.done, description=description)
                bar.refresh()

        yield show
