"""LangChain's splitters: pieces found again in the text, and classes that cut no text refused."""

from itertools import pairwise

import pytest
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ragkit.errors import IngestError, SettingsError
from ragkit.settings.ingest_options import IngestOptions
from ragkit.testing import FakeEmbedder
from ragkit.types import ParsedText, Span
from ragkit_ingest.split import splitter
from ragkit_ingest.split.langchain import LangChain
from ragkit_ingest.split.recover import Recovery
from ragkit_ingest.split.sizes import Sizes
from tests.ingest.split.conformance import CHINESE, ENGLISH, TEXTS, check

RECURSIVE = "RecursiveCharacterTextSplitter"


def embedder() -> FakeEmbedder:
    fake = FakeEmbedder(max_tokens=60)
    fake.load()
    return fake


@pytest.mark.parametrize("overlap", [0, 10])
def test_the_pieces_are_the_ones_that_langchain_makes(overlap: int) -> None:
    tokens = embedder()
    text = "\n\n".join(f"Paragraph {n}. {ENGLISH * (n % 3)}" for n in range(20))
    reference = RecursiveCharacterTextSplitter(
        chunk_size=40,
        chunk_overlap=overlap,
        length_function=lambda piece: len(tokens.token_spans(piece)),
    ).split_text(text)
    ours = LangChain(RECURSIVE, tokens.token_spans, Sizes(40, overlap))
    chunks = check(ParsedText(text), ours, tokens)
    assert [text[c.start : c.end] for c in chunks] == reference


def test_a_piece_over_the_limit_is_cut_further() -> None:
    tokens = embedder()
    text = CHINESE * 10  # in which LangChain sees nowhere to cut but between characters
    chunks = LangChain("CharacterTextSplitter", tokens.token_spans, Sizes(40, 0)).split(
        ParsedText(text), tokens.token_spans(text)
    )
    assert len(chunks) > 5
    assert max(chunk.tokens for chunk in chunks) <= 40
    assert "".join(text[c.start : c.end] for c in chunks) == text


def test_white_space_that_a_splitter_changes_does_not_matter() -> None:
    tokens = embedder()
    name = "langchain:MarkdownHeaderTextSplitter"
    parsed = TEXTS["sections"]
    chunks = splitter(IngestOptions(splitter=name), tokens).split(
        parsed, tokens.token_spans(parsed.text)
    )
    heads = [parsed.text[c.start : c.end].splitlines()[0] for c in chunks]
    assert [head for head in heads if head.startswith("#")] == ["# Wings", "## Flaps", "# Tails"]


def test_a_repetitive_text_is_covered_to_its_end() -> None:
    tokens = embedder()
    text = "a b " * 500
    chunks = LangChain(RECURSIVE, tokens.token_spans, Sizes(40, 10)).split(
        ParsedText(text), tokens.token_spans(text)
    )
    assert chunks[-1].end == len(text.strip())
    assert all(b.start <= a.end + 1 for a, b in pairwise(chunks))


def test_a_piece_that_is_nowhere_in_the_text_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        RecursiveCharacterTextSplitter, "split_text", lambda self, text: ["made up"]
    )
    tokens = embedder()
    ours = LangChain(RECURSIVE, tokens.token_spans, Sizes(40, 0))
    with pytest.raises(IngestError, match="changed the text: 'made up' is not in the document"):
        ours.split(ParsedText("one two"), tokens.token_spans("one two"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("RecursiveCharacterSplitter", "did you mean langchain:RecursiveCharacterTextSplitter"),
        ("Language", "has no text splitter 'Language': there are .*CharacterTextSplitter"),
        ("HTMLHeaderTextSplitter", "it cuts HTML"),
        ("RecursiveJsonSplitter", "it cuts JSON values"),
        ("SentenceTransformersTokenTextSplitter", "it loads a model of its own"),
        ("TokenTextSplitter", "it counts another model's tokens"),
    ],
)
def test_a_class_that_cuts_no_text_is_refused(name: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        splitter(IngestOptions(splitter=f"langchain:{name}"), embedder())


def test_what_a_piece_leaves_out_is_skipped() -> None:
    recovery = Recovery("one --- two --- one")
    spans = [recovery.find(piece, 0) for piece in ("one", "two", "one", "three")]
    assert spans == [Span(0, 3), Span(8, 11), Span(16, 19), None]
