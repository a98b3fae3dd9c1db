"""What is embedded of chunks: ids cut out of the text's, equal to those of the text alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import SecretStr

from ragkit.embed.find import MINILM
from ragkit.embed.headers import Headers
from ragkit.embed.local import LocalEmbedder
from ragkit.errors import ModelError
from ragkit.settings.ingest_options import IngestOptions
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing.embedder import FakeEmbedder
from ragkit.text.passage import header, words_of
from ragkit.types import Chunk, NewDocument, ParsedText, Span
from ragkit.upkeep.reembed import build
from ragkit_ingest.run.embedding import Embedding
from ragkit_ingest.split import splitter
from tests.core.embed.tiny_model import write_model

if TYPE_CHECKING:
    from ragkit.embed.contract import Row, TokenEmbedder

ENGLISH = "The wing lifts. Naïve readers don’t “see” it; 3.14 % of them do!\n\n"
CHINESE = "差旅报销须在三十天内提交。超过五百元的费用，需要经理批准。BM25是什么？\n"
TABLE = "| no | part |\n|---|---|\n| 7 | wing |\n| 8 | unbelievably long tail |\n"
ODD = "e\u0301tude\u200b\x00 \U0001f600 ไทย \u3000カタカナ " + "w" * 120 + " "
PIECES = [ENGLISH, CHINESE, TABLE, ODD]


@lru_cache
def minilm() -> LocalEmbedder:
    embedder = LocalEmbedder(MINILM)
    embedder.load()
    return embedder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small models; that of the name e5-small-v2 has the prefix "passage: "."""
    folder = tmp_path_factory.mktemp("models")
    write_model(folder / "e5-small-v2", seed=3, dimension=24, max_tokens=256)
    write_model(folder / "b", seed=4, dimension=16, max_tokens=64)
    return folder


def document(text: str, chunks: Sequence[Chunk], title: str = "") -> NewDocument:
    return NewDocument("file:a", "h", "f", text, tuple(chunks), title=title)


def ids_of(rows: object) -> list[list[int]]:
    return [row.tolist() for row in cast("Sequence[Row]", rows)]


HEADED = IngestOptions(chunk_header="on")


@hypothesis_settings(max_examples=80, deadline=None)
@given(
    pieces=st.lists(st.sampled_from(PIECES) | st.text(st.characters(), max_size=8), max_size=8),
    cuts=st.lists(st.tuples(*[st.integers(0, 600)] * 2), max_size=6),
    lead=st.none() | st.tuples(*[st.integers(0, 600)] * 2),
    title=st.sampled_from(["", "Wings", "差旅规定", "e\u0301 [SEP]"]),
    headings=st.lists(st.sampled_from(["Lift", "Drag > x", "表 1"]), max_size=3),
)
def test_ids_cut_out_of_the_text_are_those_of_what_is_embedded(
    pieces: list[str],
    cuts: list[tuple[int, int]],
    lead: tuple[int, int] | None,
    title: str,
    headings: list[str],
) -> None:
    text = "".join(pieces)

    def span(pair: tuple[int, int]) -> Span:
        return Span(*sorted(min(place, len(text)) for place in pair))

    above = span(lead) if lead else None
    chunks = [
        Chunk(n, span(cut).start, span(cut).end, 1, headings=tuple(headings), lead=above)
        for n, cut in enumerate(cuts)
    ]
    whole = document(text, chunks, title)
    embedding = Embedding(minilm(), HEADED)
    rows = embedding.rows(whole, minilm().token_spans(text))
    before = Headers(minilm()).of(title, headings)
    texts = [before + words_of(text, chunk) for chunk in chunks]
    encoded = minilm()._ready.tokens.tokenizer.encode_batch(
        [_storable(one) for one in texts], add_special_tokens=False
    )
    assert ids_of(rows) == [one.ids for one in encoded]
    assert ids_of(embedding.rows(whole)) == ids_of(rows)


def _storable(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


@pytest.mark.parametrize("model", ["", "e5-small-v2"])
def test_vectors_are_those_of_the_texts(models: Path, model: str) -> None:
    embedder = LocalEmbedder(str(models / model)) if model else minilm()
    text = (ENGLISH + CHINESE + TABLE + ODD) * 2
    spans = embedder.token_spans(text)
    chunks = splitter(IngestOptions(chunk_tokens=40), embedder).split(ParsedText(text), spans)
    assert len(chunks) > 5
    whole = document(text, chunks, "Manual")
    for options in (IngestOptions(), HEADED):
        embedding = Embedding(embedder, options)
        before = "Manual\n" if options.chunk_header == "on" else ""
        found = embedding.embed(embedding.rows(whole, spans))
        expected = embedder.embed_passages([before + words_of(text, one) for one in chunks])
        assert np.array_equal(found, expected)


def test_a_prefix_stands_first_and_a_header_before_the_lead(models: Path) -> None:
    embedder: TokenEmbedder = LocalEmbedder(str(models / "e5-small-v2"))
    spans = embedder.token_spans(TABLE)
    row = Chunk(0, 25, len(TABLE) - 1, 9, headings=("Parts",), lead=Span(0, 13))
    (ids,) = Embedding(embedder, HEADED).rows(document(TABLE, [row], "Manual"), spans)
    expected = "passage: Manual > Parts\n| no | part |\n" + TABLE[25:-1]
    assert cast("Row", ids).tolist() == minilm().passage_ids([expected])[0].tolist()


def test_words_are_made_anew_only_where_a_cut_goes_through_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "unbelievable wings"
    chunks = [Chunk(0, 0, 12, 1), Chunk(1, 2, 18, 2), Chunk(2, 13, 18, 1)]
    spans = minilm().token_spans(text)
    asked: list[str] = []
    passage_ids = LocalEmbedder.passage_ids

    def told(self: LocalEmbedder, texts: Sequence[str]) -> list[Row]:
        asked.extend(texts)
        return passage_ids(self, texts)

    monkeypatch.setattr(LocalEmbedder, "passage_ids", told)
    Embedding(minilm(), IngestOptions()).rows(document(text, chunks), spans)
    assert asked == ["", "believable wings"]


def test_an_embedder_of_texts_is_given_texts() -> None:
    fake = FakeEmbedder(max_tokens=64)
    text = "| no |\n| 7 |"
    whole = document(text, [Chunk(0, 7, 12, 3, headings=("A",), lead=Span(0, 6))], "T")
    embedding = Embedding(fake, HEADED)
    rows = embedding.rows(whole)
    assert list(rows) == ["T > A\n| no |\n| 7 |"]
    assert embedding.embed(rows).shape == (1, 256)
    assert Embedding(fake, IngestOptions()).rows(whole)[0] == "| no |\n| 7 |"


def test_the_reserve_is_what_no_header_exceeds() -> None:
    assert Embedding(minilm(), IngestOptions()).reserve == 0
    embedding = Embedding(minilm(), HEADED)
    assert embedding.reserve == 31
    headers = Headers(minilm())
    for title in ("A short title", "word " * 500, "差旅规定" * 100, "x" * 100_000, "!" * 300):
        line = headers.of(title, ["Inner heading " * 9, "the last of them " * 20])
        assert 0 < len(minilm().token_spans(line)) <= 31
        assert line.endswith("\n")


def test_a_long_chunk_is_refused_or_pooled(models: Path) -> None:
    embedder = LocalEmbedder(str(models / "b"))
    text = ENGLISH * 20
    whole = document(text, [Chunk(0, 0, len(text), 400)])
    spans = embedder.token_spans(text)
    refusing = Embedding(embedder, IngestOptions())
    with pytest.raises(ModelError, match="make chunks of at most 62 tokens"):
        refusing.embed(refusing.rows(whole, spans))
    pooling = Embedding(embedder, IngestOptions(long_chunks="mean"))
    (vector,) = pooling.embed(pooling.rows(whole, spans))
    assert float(vector @ vector) == pytest.approx(1, abs=1e-5)


@pytest.fixture(scope="module")
def url(database_url: str) -> Iterator[str]:
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("CREATE DATABASE test_embedding TEMPLATE template0")
        yield database_url.replace("/postgres?", "/test_embedding?")
        conn.execute("DROP DATABASE test_embedding WITH (FORCE)")


@pytest.mark.parametrize(
    "options",
    [
        IngestOptions(chunk_tokens=100),
        IngestOptions(chunk_header="on", chunk_tokens=100, long_chunks="weighted"),
    ],
    ids=["plain", "headed"],
)
def test_embedding_again_gives_what_taking_in_would_have_given(
    models: Path, url: str, options: IngestOptions, request: pytest.FixtureRequest
) -> None:
    a, b = (LocalEmbedder(str(models / name)) for name in ("e5-small-v2", "b"))
    text = "# Parts\n\n" + TABLE + "| 9 | rudder of another make |\n" * 40 + "\n" + ENGLISH * 9
    spans = a.token_spans(text)
    chunks = [
        Chunk(0, 0, 40, 12, headings=("Parts",)),
        Chunk(1, 50, 200, 60, headings=("Parts",), lead=Span(9, 22)),
        Chunk(2, 300, len(text), 400, headings=("Parts", "Rudders"), lead=Span(9, 22)),
    ]
    whole = document(text, chunks, "Manual")
    with open_database(Settings(database_url=SecretStr(url))) as database:
        store = database.store(request.node.name)
        store.create_collection("c")
        pooled = IngestOptions(chunk_header=options.chunk_header, long_chunks="mean")
        taken_in = Embedding(a, pooled)
        vectors = taken_in.embed(taken_in.rows(whole, spans))
        store.put_document("c", whole, a.space, vectors)
        kept = build(store, "c", b, source=b.model, first=None, options=options).space
        if options.long_chunks == "refuse":
            expected = Embedding(b, pooled)
        else:
            expected = Embedding(b, options)
        rows = expected.rows(whole, b.token_spans(text))
        nearest = [
            store.spaces.nearest("c", kept.space, vector, 1)[0] for vector in expected.embed(rows)
        ]
        assert len({chunk for chunk, _ in nearest}) == 3
        assert [cosine for _, cosine in nearest] == pytest.approx([1, 1, 1], abs=2e-4)


def test_headers_are_shortened_from_the_middle_then_the_left() -> None:
    path = ["Wings", "Delta wings", "Lift"]

    def within(chars: int) -> str:
        return header("Manual", path, lambda line: len(line.strip()) <= chars)

    assert within(99) == "Manual > Wings > Delta wings > Lift\n"
    assert within(34) == "Manual > … > Delta wings > Lift\n"
    assert within(30) == "Manual > … > Lift\n"
    assert within(16) == "Lift\n"
    assert within(3) == "Li…\n"
    assert within(1) == ""


def test_headers_are_tidy() -> None:
    def any_length(line: str) -> bool:
        return True

    assert header("", [], any_length) == ""
    assert header(" \n", ["  "], any_length) == ""
    assert header("The\nGuide ", ["THE  guide", "A"], any_length) == "The Guide > A\n"
    assert header("x" * 1000, [], any_length) == "x" * 200 + "…\n"
