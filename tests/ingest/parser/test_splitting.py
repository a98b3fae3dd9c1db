"""Texts split in limited processes: the same chunks, the embedder asked for, answers checked."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Sequence

import numpy as np
import pytest

from ragkit.embed.find import MINILM
from ragkit.embed.local import LocalEmbedder
from ragkit.errors import IngestError, ModelError
from ragkit.settings.ingest_options import IngestOptions
from ragkit.testing import FakeEmbedder
from ragkit.text.analyse import ANALYSER, analyse
from ragkit.text.language import language
from ragkit.text.passage import words_of
from ragkit.text.terms import Terms
from ragkit.types import Block, Chunk, Page, ParsedText, Span
from ragkit_ingest.parser.pool import ParserPool
from ragkit_ingest.parser.split_wire import (
    SplitRecipe,
    SplitText,
    chunks_of,
    split_text,
    told_chunks,
    told_split,
)
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
    assert len(made.chunks) > 5
    assert made.chunks == expected
    assert list(made.terms) == [analyse(words_of(TEXT, chunk)) for chunk in expected]
    assert made.language == language(TEXT)
    assert made.rows is None


@pytest.mark.parametrize("model", [MINILM, None])
def test_a_process_makes_the_models_own_tokens_itself(model: str | None) -> None:
    embedder = LocalEmbedder(model)
    embedder.load()
    recipe = SplitRecipe(IngestOptions(), embedder, 0, ANALYSER)
    assert recipe.does_tokenise(TEXT)
    with ParserPool(1) as pool:
        made = pool.split(PARSED, None, recipe).result(DEADLINE_S)
    spans = embedder.token_spans(TEXT)
    assert made.chunks == splitter(IngestOptions(), embedder).split(PARSED, spans)
    expected = embedder.passage_ids([words_of(TEXT, chunk) for chunk in made.chunks])
    assert made.rows is not None
    assert [row.tolist() for row in made.rows] == [row.tolist() for row in expected]


def test_the_parent_makes_tokens_that_a_process_cannot_or_is_not_to_make() -> None:
    embedder = LocalEmbedder(MINILM)
    embedder.load()
    headed = IngestOptions(chunk_header="on")
    assert not SplitRecipe(IngestOptions(), FakeEmbedder(), 0, ANALYSER).does_tokenise(TEXT)
    assert not SplitRecipe(headed, embedder, 16, ANALYSER).does_tokenise(TEXT)
    assert not SplitRecipe(IngestOptions(), embedder, 0, ANALYSER).does_tokenise("a " * 1_000_001)


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
                assert future.result(DEADLINE_S).chunks
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


TOLD = SplitText((Chunk(0, 0, 5, 2),), Terms.of([["a", "b", "a"]]), "en", [np.array([7, 8])])


def asked(**changed: object) -> SplitText:
    """Read an answer of one chunk, some parts of which are changed."""
    fields, parts = told_split(TOLD)
    names = ("numbers", "headings", "names", "terms", "lengths", "ids", "counts")
    values = dict(zip(names, parts, strict=True)) | changed
    language = values.pop("language", fields["language"])
    embedder = LocalEmbedder(MINILM)
    embedder.load()
    recipe = SplitRecipe(IngestOptions(), embedder, 0, ANALYSER)
    return split_text({"language": language}, list(values.values()), 12, recipe)  # type: ignore[arg-type]


def numbers(*values: int) -> bytes:
    return array("i", values).tobytes()


def test_a_split_text_comes_back_as_it_was() -> None:
    made = asked()
    assert (made.chunks, made.language) == (TOLD.chunks, "en")
    assert list(made.terms) == [["a", "b", "a"]]
    assert made.rows is not None
    assert [row.tolist() for row in made.rows] == [[7, 8]]


@pytest.mark.parametrize(
    "changed",
    [
        {"names": b"a"},
        {"names": b"a\n"},
        {"names": b"a\nb\0"},
        {"names": b"a\n" + b"b" * 300},
        {"names": b"a\n\xff"},
        {"terms": numbers(0, 1, -1)},
        {"terms": numbers(0, 1)},
        {"lengths": numbers(3, 0)},
        {"lengths": numbers(-3)},
        {"ids": numbers(7, 1 << 20)},
        {"ids": numbers(-1, 7)},
        {"ids": numbers(7)},
        {"ids": numbers(*[7] * 1000), "counts": numbers(1000)},
        {"counts": numbers(1, 1)},
        {"counts": b"abc"},
        {"language": "english"},
        {"language": 7},
    ],
)
def test_what_cannot_be_of_a_split_text_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  numpy's messages too
        asked(**changed)


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
    with pytest.raises(ValueError, match=r"out of place|reshape"):
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


def test_of_several_clocks_each_ends_by_its_own_limit() -> None:
    longer, shorter = threading.Event(), threading.Event()
    clocks = [Clock(DEADLINE_S, longer.set), Clock(0.1, shorter.set)]
    assert shorter.wait(DEADLINE_S / 2)
    assert not longer.is_set()
    for clock in clocks:
        clock.stop()
