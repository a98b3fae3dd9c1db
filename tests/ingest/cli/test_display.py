"""What `ragkit ingest` shows while it works: on a terminal one display, elsewhere lines."""

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from rich.live import Live

from ragkit.store.vectors import BuildProgress
from ragkit_ingest.cli import ingest
from ragkit_ingest.run import run
from ragkit_ingest.run.report import IngestReport, Progress


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def pretended(
    places: Sequence[str],
    collection: str | None,
    *,
    on_progress: Callable[[Progress], None],
    on_index: Callable[[BuildProgress], None],
    **options: object,
) -> Iterator[Callable[[], IngestReport]]:
    """Tell of two files, then of an index, without doing anything."""

    def look() -> IngestReport:
        on_progress(Progress(files=1, total=2, chunks=30, seconds=0.5))
        on_progress(Progress(files=2, total=2, chunks=60, seconds=1.0))
        on_index(BuildProgress("building index", notice="the graph does not fit"))
        on_index(BuildProgress("building index: loading tuples", 1500, 3000))
        return IngestReport(added=2, chunks=60, embedded=60, seconds=1.0)

    yield look


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many displays were open, each time that one was opened."""
    monkeypatch.setattr(run, "ingesting", pretended)
    start, stop = Live.start, Live.stop
    now: set[int] = set()
    counts: list[int] = []

    def started(self: Live, refresh: bool = False) -> None:
        now.add(id(self))
        counts.append(len(now))
        start(self, refresh)

    def stopped(self: Live) -> None:
        now.discard(id(self))
        stop(self)

    monkeypatch.setattr(Live, "start", started)
    monkeypatch.setattr(Live, "stop", stopped)
    return counts


def test_a_terminal_has_one_display_for_files_and_index(
    live: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    ingest.ingest(["a"])
    assert live == [1]
    shown = terminal.getvalue()
    assert "ragkit: the graph does not fit" in shown
    last = shown.rpartition("files, 60 passages/s")[2]
    assert "2/2" in last
    assert "building index: loading tuples" in last
    assert "1500/3000" in last
    assert capsys.readouterr().out.startswith("Added: 2 documents")


def test_a_pipe_gets_lines_of_both(
    live: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ragkit_ingest.cli.ingest._LINE_EVERY_S", 0.0)
    monkeypatch.setattr("ragkit.cli.index._LINE_EVERY_S", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")  # colours are no reason for a bar in a file
    ingest.ingest(["a"])
    assert live == []
    assert capsys.readouterr().err.splitlines() == [
        "1 of 2 files",
        "2 of 2 files",
        "ragkit: the graph does not fit",
        "building index: loading tuples: 1,500 / 3,000",
    ]
