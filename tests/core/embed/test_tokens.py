"""Exact offsets from the real tokenizer, and what the model folder says about its limit."""

import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.embed.find import find_model
from ragkit.embed.tokens import APART, Tokens, is_apart, load_tokens
from ragkit.embed.words import MAX_CHARS, WordTokens
from ragkit.errors import ModelError
from ragkit.types import Span

if TYPE_CHECKING:
    from ragkit.embed.words import Table


@lru_cache
def minilm() -> Tokens:
    return load_tokens(find_model("all-MiniLM-L6-v2").folder)


@pytest.fixture
def tokens() -> Tokens:
    return minilm()


def test_spans_are_the_models_tokens(tokens: Tokens) -> None:
    text = "Unbelievable, 中文 né"
    spans = tokens.spans(text)
    assert [text[s.start : s.end] for s in spans] == ["Unbelievable", ",", "中", "文", "né"]
    assert spans[0] == Span(0, 12)
    assert list(spans[1:3]) == [Span(12, 13), Span(14, 15)]


def test_no_text_has_no_tokens(tokens: Tokens) -> None:
    assert len(tokens.spans("")) == 0
    assert len(tokens.spans(" \n")) == 0


def test_ids_are_those_of_the_text_alone(tokens: Tokens) -> None:
    assert [ids.tolist() for ids in tokens.ids(["hello world", ""])] == [[7592, 2088], []]
    assert tokens.frame == ((101,), (102,))


def test_a_text_cannot_speak_special_tokens(tokens: Tokens) -> None:
    assert 102 not in tokens.ids(["a [SEP] b"])[0]
    assert len(tokens.spans("[SEP]")) == 3


def test_a_long_query_is_cut_to_what_fits_beside_special_tokens(tokens: Tokens) -> None:
    ids = tokens.cut_ids("hello " * 1_000_000)
    assert (len(ids), set(ids.tolist())) == (254, {7592})


@pytest.mark.parametrize("unit", ["hello world. ", "中文，", "naïve\n"])
def test_a_text_in_many_pieces_has_the_tokens_of_the_whole(tokens: Tokens, unit: str) -> None:
    text = unit * 4000
    whole = tokens.tokenizer.encode(text, add_special_tokens=False)
    spans = tokens.spans(text)
    assert [(s.start, s.end) for s in spans] == whole.offsets
    assert spans.ids.tolist() == whole.ids


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(), max_size=300))
def test_spans_lie_in_order_within_any_text(text: str) -> None:
    spans = list(minilm().spans(text))  # lone surrogates included
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)
    assert [span.start for span in spans] == sorted(span.start for span in spans)


ODD = [
    *("the", "Running", "né", "e\u0301", "\u0301", "\u0308\u0327", "İ", "ΣΑΣ", "ß", "ﬁ", "ａｂ"),
    *("中文", "漢", "。", "，", "「」", "《", "カタカナ", "한국어", "각", "ไทยไทย", "שָׁלוֹם"),
    *(" ", "  ", "\n", "\t", "\r\n", "\x00", "\x07", "\u200b", "\u00a0", "\u3000", "\u2028"),
    *("don't", "“don’t”", "a_b", "x-ray", "3.14", "$5", "€", "|", "---", "¿", "—", "…", "～"),
    *(
        "[SEP]",
        "[UNK]",
        "##ing",
        "\U0001f600",
        "\U0001f1e6\U0001f1e8",
        "\ud800",
        "\ufeff",
        "\u0378",
    ),
    *("w" * 99, "w" * 101, "unbelievably" * 9),
]


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(st.sampled_from(ODD) | st.text(st.characters(), max_size=4), max_size=40))
def test_words_from_memory_are_what_the_tokenizer_gives(parts: list[str]) -> None:
    text = "".join(parts)
    tokens = minilm()
    whole = tokens.tokenizer.encode(
        re.sub("[\ud800-\udfff]", "\ufffd", text), add_special_tokens=False
    )
    spans = tokens.spans(text)
    assert spans.ids.tolist() == whole.ids
    starts = list(accumulate((start for start, _ in whole.offsets), max))
    assert spans.starts.tolist() == starts
    ends = [max(start, end) for start, (_, end) in zip(starts, whole.offsets, strict=True)]
    assert spans.ends.tolist() == ends


@settings(max_examples=100, deadline=None)
@given(
    parts=st.lists(st.sampled_from(ODD), max_size=30), cuts=st.tuples(*[st.integers(0, 400)] * 2)
)
def test_a_slice_of_the_ids_is_what_its_text_has(parts: list[str], cuts: tuple[int, int]) -> None:
    text = "".join(parts)
    start, end = sorted(min(cut, len(text)) for cut in cuts)
    ids = minilm().spans(text).ids_of(text, start, end)
    apart = is_apart(text, start) and is_apart(text, end)
    assert (ids is not None) == apart
    if ids is not None:
        assert ids.tolist() == minilm().ids([text[start:end]])[0].tolist()


def test_every_mark_stands_apart_for_the_tokenizer() -> None:
    marks = [c for c in map(chr, range(0x10000)) if APART.match(c)]
    assert len(marks) > 27_000
    parted = minilm().tokenizer.encode_batch([f"a{c}b" for c in marks], add_special_tokens=False)
    assert all((one.offsets[0], one.offsets[-1]) == ((0, 1), (2, 3)) for one in parted)


def test_what_is_remembered_is_bounded_and_forgotten_without_a_trace() -> None:
    tokens = minilm()
    words = WordTokens(r" \n", tokens._by_piece)
    texts = [f"alpha beta{n} {n} gamma" for n in range(30)]
    before = [words.look_up(text) for text in texts]
    words._chars = MAX_CHARS + 1
    after = [words.look_up(text) for text in texts]
    assert words._chars < 1000
    lists = [
        [(starts.tolist(), ends.tolist(), ids.tolist()) for starts, ends, ids in tables]
        for tables in (before, after)
    ]
    assert lists[0] == lists[1]


@pytest.mark.parametrize(
    "text",
    [
        "One, two;  three.\n\nFour (five) ",
        " " * 50,
        "  naïve — “quoted” words, 航空公司 and more words of it",
        "unhappiness,unhappiness,unhappiness",
        "a,b\n" * 40,
        "词语。" * 30,
    ],
)
def test_words_at_spaces_have_the_tokens_of_the_whole(text: str) -> None:
    words = WordTokens(r" \n", minilm()._by_piece)
    whole = minilm().tokenizer.encode(text, add_special_tokens=False)
    for _ in range(2):  # at first sight, and from memory
        starts, ends, ids = words.look_up(text)
        assert ids.tolist() == whole.ids
        assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == whole.offsets


def test_several_threads_look_words_up_at_once() -> None:
    tokens = minilm()
    words = WordTokens(r" \n", tokens._by_piece)
    texts = [f"alpha beta{n} {n % 7} gamma\n" * 50 for n in range(64)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(words.look_up, texts))
    expected = [tokens.tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert [ids.tolist() for _, _, ids in found] == expected


def test_words_that_an_error_left_unknown_are_learnt_anew() -> None:
    tokens = minilm()
    broken = [True]

    def tokenise(pieces: Sequence[tuple[int, str]]) -> "Table":
        if broken.pop() if broken else False:
            raise KeyboardInterrupt
        return tokens._by_piece(pieces)

    words = WordTokens(r" \n", tokenise)
    with pytest.raises(KeyboardInterrupt):
        words.look_up("hello world")
    assert words.look_up("hello world")[2].tolist() == [7592, 2088]


def test_only_text_cut_beside_a_mark_counts_as_separable(tokens: Tokens) -> None:
    assert tokens.spans("word " * 4000).separable
    assert not tokens.spans("w" * 20_000).separable


def test_a_tokenizer_that_leaves_ideographs_among_letters_is_not_separable(
    tmp_path: Path,
) -> None:
    folder = model_folder(tmp_path, {"sentence_bert_config.json": {"max_seq_length": 128}})
    saved = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    assert load_tokens(folder).separable
    saved["normalizer"]["handle_chinese_chars"] = False
    (folder / "tokenizer.json").write_text(json.dumps(saved), "utf-8")
    assert not load_tokens(folder).separable


def model_folder(tmp_path: Path, files: Mapping[str, Mapping[str, object]]) -> Path:
    source = find_model("all-MiniLM-L6-v2").folder
    (tmp_path / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(dict(content)), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"sentence_bert_config.json": {"max_seq_length": 128}}, 128),
        ({"config.json": {"model_type": "bert", "max_position_embeddings": 512}}, 512),
        (
            {
                "config.json": {
                    "model_type": "xlm-roberta",
                    "max_position_embeddings": 514,
                    "pad_token_id": 1,
                }
            },
            512,
        ),
        (
            {
                "config.json": {"max_position_embeddings": 32768},
                "tokenizer_config.json": {"model_max_length": 8192},
            },
            8192,
        ),
    ],
)
def test_the_limit_is_read_from_the_folder(
    tmp_path: Path, files: Mapping[str, Mapping[str, object]], limit: int
) -> None:
    assert load_tokens(model_folder(tmp_path, files)).limit == limit


def test_lower_casing_asked_for_by_the_sentence_config_is_done(tmp_path: Path) -> None:
    config = {"max_seq_length": 128, "do_lower_case": True}
    folder = model_folder(tmp_path, {"sentence_bert_config.json": config})
    assert load_tokens(folder).ids(["HELLO"])[0].tolist() == [7592]


def test_a_folder_without_limit_or_tokenizer_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no tokenizer\.json: save"):
        load_tokens(tmp_path)
    with pytest.raises(ModelError, match="does not say how many tokens"):
        load_tokens(model_folder(tmp_path, {}))


def test_a_tokenizer_in_use_is_shared_until_its_files_change(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, {"sentence_bert_config.json": {"max_seq_length": 128}})
    first = load_tokens(folder)
    assert load_tokens(folder).tokenizers is first.tokenizers
    assert first.ids(["HELLO"])[0].tolist() == [7592]  # the tokenizer's own lower case
    changed = folder / "tokenizer.json"
    changed.write_bytes(changed.read_bytes() + b" ")
    assert load_tokens(folder).tokenizers is not first.tokenizers
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 64}')
    assert load_tokens(folder).limit == 64
