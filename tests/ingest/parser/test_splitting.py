"""Texts split in limited processes: the same chunks, the embedder asked for, answers checked."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Sequence

import pytest

from ragkit.embed.local import LocalEmbedder
from ragkit.errors import IngestError, ModelError
from ragkit.settings.ingest_options import IngestOptions
from ragkit.testing import FakeEmbedder
from ragkit.text.analyse import ANALYSER
from ragkit.types import Block, Chunk, Page, ParsedText, Span
from ragkit_ingest.parser.pool import ParserPool
from ragkit_ingest.parser.split_wire import SplitRecipe, chunks_of, told_chunks
from ragkit_ingest.run.clock import Clock
from ragkit_ingest.split import splitter

SPLITTERS = (
    *("structural", "fixed", "sentences", "parent-child", "code"),
    "langchain:RecursiveCharacterTextSplitter",
)
DEADLINE_S = 60
TEXT = "# The wing\n\n" + "\n\n".join(
    f"Wing {n} weighs {n * 3} kg. 机翼重{n}公斤。它很轻。" * 4 for n in range(40)
)
PARSED = ParsedText(
    TEXT,
    (Block(0, 10, "heading", 1), Block(12, len(TEXT), "paragraph")),
    (Page(0, 1), Page(500, 2)),
)


@pytest.mark.parametrize("name", SPLITTERS)
def test_a_process_makes_the_same_chunks(name: str) -> None:
    options, embedder = IngestOptions(splitter=name), FakeEmbedder()
    expected = splitter(options, embedder).split(PARSED, embedder.token_spans(TEXT))
    with ParserPool(1) as pool:
        recipe = SplitRecipe(options, embedder, 0, ANALYSER)
        made = pool.split(PARSED, embedder.token_spans(TEXT), recipe).result(DEADLINE_S)
    assert len(made) > 5
    assert made == expected


def test_a_process_makes_the_same_chunks_of_the_models_own_tokens() -> None:
    embedder = LocalEmbedder()
    embedder.load()
    spans = embedder.token_spans(TEXT)
    with ParserPool(1) as pool:
        recipe = SplitRecipe(IngestOptions(), embedder, 0, ANALYSER)
        made = pool.split(PARSED, spans, recipe).result(DEADLINE_S)
    assert made == splitter(IngestOptions(), embedder).split(PARSED, spans)


class Broken(FakeEmbedder):
    def token_spans(self, text: str) -> Sequence[Span]:
        raise ModelError("the model is gone")


def test_what_the_embedder_raises_is_raised_and_the_next_text_is_split() -> None:
    embedder = FakeEmbedder()
    spans = embedder.token_spans(TEXT)
    with ParserPool(1) as pool:
        for one in (Broken(), embedder):
            one.load()
            future = pool.split(PARSED, spans, SplitRecipe(IngestOptions(), one, 0, ANALYSER))
            if one is embedder:
                assert future.result(DEADLINE_S)
            else:
                with pytest.raises(ModelError, match="the model is gone"):
                    future.result(DEADLINE_S)


def test_a_closed_pool_takes_no_text() -> None:
    pool = ParserPool(1)
    pool.close()
    embedder = FakeEmbedder()
    embedder.load()
    with pytest.raises(IngestError, match="chunk: interrupted"):
        pool.split(PARSED, [], SplitRecipe(IngestOptions(), embedder, 0, ANALYSER))


def test_chunks_come_back_as_they_were() -> None:
    chunks = (
        Chunk(0, 0, 5, 3),
        Chunk(1, 5, 9, 2, 4, ("A", "B"), Span(0, 2), Span(0, 9)),
        Chunk(2, 9, 12, 1, 0, ("A", "B")),
    )
    assert chunks_of(told_chunks(chunks)[1], 12) == chunks


@pytest.mark.parametrize(
    "row",
    [
        (-1, 5, 1, -1, 0, -1, -1, -1, -1),
        (5, 5, 1, -1, 0, -1, -1, -1, -1),
        (0, 99, 1, -1, 0, -1, -1, -1, -1),
        (0, 5, 0, -1, 0, -1, -1, -1, -1),
        (0, 5, 1, -1, -1, -1, -1, -1, -1),
        (0, 5, 1, -1, 0, 3, 99, -1, -1),
        (0, 5, 1, -1, 0, -1, -1, 7, 3),
        (0, 5, 1),
    ],
)
def test_chunks_that_cannot_be_are_refused(row: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"out of place|zip"):
        chunks_of([array("q", row).tobytes(), json.dumps([[]]).encode()], 12)


def test_a_clock_counts_no_time_while_it_is_paused() -> None:
    ended = threading.Event()
    clock = Clock(0.1, ended.set)
    with clock.paused():
        assert not ended.wait(0.5)
    assert ended.wait(DEADLINE_S)


def test_a_clock_that_is_stopped_ends_nothing() -> None:
    ended = threading.Event()
    clock = Clock(0.1, ended.set)
    clock.stop()
    assert not ended.wait(0.3)
