"""What the pipeline hands to the store: what came together at once, and each by itself if need be.

The stages themselves are shown on real files in test_ingest.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from ragkit.errors import DatabaseError
from ragkit.store.jobs.worker import Job
from ragkit.testing import new_document
from ragkit.types import Document
from ragkit_ingest.executor.outcomes import Outcomes
from ragkit_ingest.executor.write_stage import Embedded, WriteStage
from ragkit_ingest.run.steps import Source
from ragkit_ingest.run.tally import Figures, Live, Tally, Task
from ragkit_ingest.sources.item import Item

if TYPE_CHECKING:
    from ragkit.store.documents.write import Result


class Refusing:
    """A store that takes everything but documents of some URIs."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.asked: list[list[str]] = []

    def put_results(self, _: str, results: Sequence[Result], __: object) -> list[Document | None]:
        uris = [one.document.uri for one in results]
        self.asked.append(uris)
        if set(uris) & set(self.refused):
            raise DatabaseError("no")
        return [Document(1, uri, uri, "c", "", 1, 1, 4) if uri != "lost" else None for uri in uris]


def stage(store: Refusing, tally: Tally) -> WriteStage:
    steps = SimpleNamespace(embedder=SimpleNamespace(space=None))
    outcomes = Outcomes(*cast("Any", (store, "c", steps, None, tally)))
    of_stage = cast("Any", (store, "c", steps, tally, outcomes))
    return WriteStage(*of_stage, settle=lambda task: None)


def embedded(*uris: str) -> list[Embedded]:
    item = cast("Item", SimpleNamespace(uri=""))
    return [
        Embedded(
            Task(Source(item), Job(n, uri, n, 1)),
            new_document(uri, "text"),
            np.ones((1, 4), np.float32),
        )
        for n, uri in enumerate(uris)
    ]


def test_what_came_together_is_stored_together() -> None:
    store, tally = Refusing(), Tally()
    stage(store, tally).write(embedded("a", "lost", "b"))
    assert store.asked == [["a", "lost", "b"]]
    assert (tally.added, tally.lost, tally.chunks) == (2, 1, 2)


def test_one_that_cannot_be_stored_keeps_no_other_from_it() -> None:
    store, tally = Refusing("c"), Tally()
    with pytest.raises(DatabaseError, match="no"):
        stage(store, tally).write(embedded("a", "b", "c"))
    assert store.asked == [["a", "b", "c"], ["a"], ["b"], ["c"]]
    assert tally.added == 2


def test_a_file_has_its_share_of_the_seconds_that_writing_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ragkit_ingest.run.tally.perf_counter", lambda: 18.0)
    figures = Figures(bytes=7, chunks=1, seconds={"split": 2.0, "write": -10.0})
    assert figures.as_json()["seconds"] == {"split": 2.0, "write": 8.0}
    assert Live(figures, share=0.25)["seconds"] == {"split": 2.0, "write": 2.0}
