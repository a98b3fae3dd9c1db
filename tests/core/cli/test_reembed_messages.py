"""What `ragkit index reembed` says to people, word for word."""

from datetime import UTC, datetime

import pytest

from ragkit.cli import reembed_text as text
from ragkit.settings.settings import Settings
from ragkit.store.vectors.active_space import KeptSpace
from ragkit.types import EmbeddingSpace
from ragkit.upkeep.compare_spaces import Comparison, Side
from ragkit.upkeep.reembed import Built, Progress

OLD, NEW = EmbeddingSpace("a", "1", 32), EmbeddingSpace("b", "2", 24)
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
PRESENT = KeptSpace(1, OLD, "a", None, "active", BEGAN, None, None)
KEPT = KeptSpace(2, NEW, "org/b", None, "ready", BEGAN, None, None)
TUNED = KeptSpace(
    3, EmbeddingSpace("model", "3f2a91c0aa12", 24), "/home/li/.ragkit/tune/leave/model", None,
    "ready", BEGAN, None, None,
)  # fmt: skip


def test_what_was_built_and_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    text.print_built("c", Built(KEPT, 60, 2, 3.0), PRESENT)
    text.print_not_switched("c", PRESENT)
    text.print_switched("c", KEPT, Settings(embed_model="a"))
    text.print_dropped(KEPT, 60, shared=True)
    assert capsys.readouterr().out.splitlines() == [
        "60 passages embedded with b in 3.0 s, 20 passages/s; every passage has its vector.",
        "2 of them are longer than it reads: their vectors are the means of their windows'."
        " Ingesting anew cuts them for it.",
        "Collection 'c' is still searched with a, 32 dimensions: the same command with"
        " --switch changes that, with --drop it deletes the new vectors.",
        "Collection 'c' is searched with b from now on, 24 dimensions. --rollback undoes it,"
        " --drop ends that.",
        "RAGKIT_EMBED_MODEL is still a: `ragkit ingest` refuses until it is unset or changed.",
        "Deleted 60 vectors of b; other collections have vectors of that model.",
    ]


def test_a_tuned_model_has_its_runs_name_and_a_short_hash(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text.print_built("c", Built(TUNED, 60, 0, 3.0), PRESENT)
    text.print_switched("c", TUNED, Settings())
    text.print_dropped(TUNED, 60, shared=False)
    assert capsys.readouterr().out.splitlines() == [
        "60 passages embedded with leave (3f2a91c) in 3.0 s, 20 passages/s; every passage has its"
        " vector.",
        "Collection 'c' is searched with leave (3f2a91c) from now on, 24 dimensions. --rollback"
        " undoes it, --drop ends that.",
        "Deleted 60 vectors of leave (3f2a91c).",
    ]


def test_nothing_left_to_build(capsys: pytest.CaptureFixture[str]) -> None:
    text.print_built("c", Built(KEPT, 0, 0, 0.0), KEPT)
    assert capsys.readouterr().out.splitlines() == [
        "0 passages embedded with b in 0.0 s; every passage has its vector.",
        "Collection 'c' is searched with it already.",
    ]


def test_the_vectors_there_are_and_how_two_compare(capsys: pytest.CaptureFixture[str]) -> None:
    text.print_status("c", [])
    row = {"name": "b\x1b", "revision": "2", "dimension": 24, "state": "ready"}
    text.print_status("c", [row | {"vectors": 59, "missing": 1, "bytes": 2_340_000}])
    old = Side("a", OLD, 0.9, 0.71, 0.0012, 60, 10**6)
    new = Side("b", NEW, 0.95, 0.76, 0.0008, 60, 10**6)
    text.print_comparison(Comparison("labelled", 40, old, new, 0.05, -0.01, 0.11, 0.8))
    text.print_comparison(None)
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert shown[0] == "Collection 'c' has no vectors yet.".split()
    assert "b\ufffd 2 24 ready 59 1 2.3 MB".split() in shown
    assert "Both models on 40 of your questions, by vectors alone:".split() in shown
    assert "b, 24 95.0% 0.760 0.8 ms 1.0 MB".split() in shown
    assert (
        shown[-2]
        == (
            "MRR@10 changes by +0.050 (95% interval -0.010 to +0.110); of the first 10, 80% are the"
            " same."
        ).split()
    )


def test_without_a_terminal_progress_is_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_LINE_EVERY_S", 0.0)
    with text.progress_display() as show:
        show(Progress(done=10, total=60, embedded=10, seconds=2.0))
    assert capsys.readouterr().err == "10 of 60 passages, 5 a second, about 10 s left\n"
