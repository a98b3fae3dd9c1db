"""Helpers of commands that print: a progress bar, and a text cut to one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LINE_CHARS = 160  # about two lines of a terminal


def shorten(text: str) -> str:
    """Return a text as one printable line of at most 160 characters."""
    from ragkit.text.printable import printable

    line = printable(" ".join(text.split()))
    return line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1] + "…"


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error if it is a terminal, and yield a function that moves it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)
