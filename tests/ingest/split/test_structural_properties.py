"""What holds of chunks for any text at all, with the real tokenizer and with a tiny BPE one."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragkit.embed.find import find_model
from ragkit.embed.tokenizer import Tokenizers
from ragkit.embed.tokens import Tokens, load_tokens
from ragkit.text.normalise import clean
from ragkit.text.passage import words_of
from ragkit.types import Block, BlockKind, Chunk, Page, ParsedText, Span
from ragkit_ingest.split.ruler import STRETCH_CHARS
from ragkit_ingest.split.sizes import Sizes
from ragkit_ingest.split.structural import Structural
from tests.growth import grows_linearly


@lru_cache
def minilm() -> Tokens:
    return load_tokens(find_model("all-MiniLM-L6-v2").folder)


@lru_cache
def bpe() -> Tokens:
    """A byte-level BPE: several tokens may share one character, and pieces differ from wholes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(["the cat sat on the mat, the hat: 中文文本 中文"] * 9, trainer)
    return Tokens(Tokenizers(tokenizer), limit=512, special=0, separable=False)


TOKENIZERS = [minilm, bpe]
PIECES = [
    *(
        "\x00",
        "\ud800",
        "\udfff",
        "\r\n",
        "\u2028",
        " ",
        "\t",
        "\n",
        "\n\n",
        "\xa0",
        "\x1c",
        "\x01",
    ),
    *(
        "שלום",
        "مرحبا بالعالم",
        "e\u0301\u0302",
        "\u0301",
        "👨‍👩‍👧‍👦",
        "🇨🇳🇩🇪",
        "👍🏽",
        "\u200d",
        "\ufe0f",
    ),
    *(
        "中文",
        "，",
        "。",
        "！",
        "；",
        "…",
        "你好，世界。",
        "The cat sat. ",
        "Dr. No",
        "3.14",
        "a,b; c: d",
    ),
    *(
        "| a | b |\n",
        "| - | - |\n",
        "def f():\n",
        "word ",
        "w" * 120,
        "-" * 70,
        " " * 70,
        "﷽",
        "[SEP]",
        "# ",
        "1. ",
    ),
]
TEXTS = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(st.characters(), max_size=8)), max_size=60
).map(lambda pieces: clean("".join(pieces)))


@st.composite
def parsed_texts(draw: st.DrawFn) -> ParsedText:
    text = draw(TEXTS)
    edges = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    kinds: list[BlockKind] = ["heading", "paragraph", "list", "table", "code"]
    blocks = tuple(
        Block(start, end, draw(st.sampled_from(kinds)), draw(st.integers(1, 6)))
        for start, end in pairwise(edges)
        if draw(st.booleans())
    )
    pages = tuple(Page(start, number) for number, start in enumerate(edges[::3], 1))
    return ParsedText(text, blocks, pages)


def check(parsed: ParsedText, tokens: Tokens, size: int, overlap: int) -> tuple[Chunk, ...]:
    text = parsed.text
    chunks = Structural(tokens.spans, Sizes(size, overlap)).split(parsed, tokens.spans(text))
    covered = 0
    for ordinal, piece in enumerate(chunks):
        content = text[piece.start : piece.end]
        assert piece.ordinal == ordinal
        assert 0 <= piece.start < piece.end <= len(text)
        assert content == content.strip()
        assert piece.tokens == len(tokens.spans(words_of(text, piece))) <= size
        assert not text[covered : piece.start].strip()
        assert piece.end > covered
        covered = piece.end
    assert all(previous.start < following.start for previous, following in pairwise(chunks))
    assert not text[covered:].strip()
    return chunks


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parsed=parsed_texts(), size=st.integers(24, 80), share=st.integers(0, 4))
def test_any_text_is_covered_in_order_within_the_limit(
    tokenizer: Callable[[], Tokens], parsed: ParsedText, size: int, share: int
) -> None:
    check(parsed, tokenizer(), size, size * share // 16)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@settings(max_examples=60, deadline=None)
@given(text=st.text(st.sampled_from("ab中́‍👩👧🇨🇳🏽ي"), min_size=200, max_size=400))
def test_text_without_white_space(tokenizer: Callable[[], Tokens], text: str) -> None:
    check(ParsedText(text), tokenizer(), 32, 4)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("grapheme", ["e\u0301", "👨‍👩‍👧", "🇨🇳", "👍🏽", "❤️", "กี"])
def test_graphemes_stay_whole(tokenizer: Callable[[], Tokens], grapheme: str) -> None:
    text = grapheme * 300
    for piece in check(ParsedText(text), tokenizer(), 64, 0):
        assert piece.start % len(grapheme) == 0
        assert piece.end % len(grapheme) == 0


def test_a_character_that_nothing_tokenises_is_in_a_chunk() -> None:
    assert [
        (c.start, c.end, c.tokens) for c in check(ParsedText("\x01 \x01"), minilm(), 32, 0)
    ] == [(0, 3, 0)]


def check_one_line(line: str, size_bytes: int, tokens: Tokens) -> int:
    """Cut one line and return how many characters were tokenised again for that."""
    text = line * (size_bytes // len(line.encode()))
    repeated_chars = 0

    def token_spans(piece: str) -> Sequence[Span]:
        nonlocal repeated_chars
        repeated_chars += len(piece)
        return tokens.spans(piece)

    chunks = Structural(token_spans, Sizes(254, 25)).split(ParsedText(text), tokens.spans(text))
    covered = 0
    for piece in chunks:
        assert piece.tokens <= 254
        assert piece.end - piece.start <= STRETCH_CHARS * 255
        assert not text[covered : piece.start].strip()
        covered = piece.end
    assert not text[covered:].strip()
    return repeated_chars


ENGLISH_LINE, CHINESE_LINE = "the cat sat on the mat, the hat. ", "中文文本没有空格"


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("line", [ENGLISH_LINE, "a", "\x01", " ", "👨‍👩‍👧", "e\u0301", ". ", "-"])
def test_one_long_line(tokenizer: Callable[[], Tokens], line: str) -> None:
    check_one_line(line, 100_000, tokenizer())


@pytest.mark.parametrize("line", [ENGLISH_LINE, CHINESE_LINE, "a", "👨‍👩‍👧"])
def test_work_grows_with_the_length_of_a_line_and_not_faster(line: str) -> None:
    """A line of two megabytes takes less than 100 times what a sixteenth of it takes."""
    repeated_chars = {}

    def work(size_bytes: int) -> None:
        repeated_chars[size_bytes] = check_one_line(line, size_bytes, minilm())

    work(125_000)
    assert repeated_chars[125_000] <= 2 * 125_000
    assert grows_linearly(work, 2_000_000)
    assert repeated_chars[2_000_000] <= 2 * 2_000_000
