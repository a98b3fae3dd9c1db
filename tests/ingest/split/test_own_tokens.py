"""Tokens made without the network, and ids cut out of them, are those that the embedder makes."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ragkit.embed.bundled import NAME, bundled_file
from ragkit.embed.find import MINILM, find_model
from ragkit.embed.tokens import Tokens, load_tokens
from ragkit.text.passage import words_of
from ragkit.types import Chunk, Span
from ragkit_ingest.split.own_tokens import OwnTokens, SpacedSpans, apart_in

MODELS = [MINILM, pytest.param(NAME, marks=pytest.mark.skipif(not bundled_file(), reason=NAME))]
PIECES = [
    *("The wings of the aircraft lift it. ", "差旅报销须在三十天内提交。", "a\u200bb \u0308c "),
    *("\u2028x\u3000y \xa0z\t\n\n", "w" * 70, "ไทย ", "3.14% “see”, don’t!\n", "\ufb01n e\u0301 "),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=9), max_size=60).map("".join)


@lru_cache
def tokens(model: str) -> Tokens:
    return load_tokens(find_model(model).folder)


@lru_cache
def own(model: str) -> OwnTokens:
    return OwnTokens(tokens(model))


@pytest.mark.parametrize("model", MODELS)
@hypothesis_settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_the_tokens_are_those_of_the_whole_text(model: str, text: str) -> None:
    made, expected = own(model).spans(text), tokens(model).spans(text)
    assert (made.starts.tolist(), made.ends.tolist()) == (
        expected.starts.tolist(),
        expected.ends.tolist(),
    )
    assert made.ids.tolist() == expected.ids.tolist()


@pytest.mark.parametrize("model", MODELS)
@hypothesis_settings(max_examples=150, deadline=None)
@given(
    text=TEXTS,
    cuts=st.lists(st.tuples(*[st.integers(0, 400)] * 2), min_size=1, max_size=5),
    lead=st.none() | st.tuples(*[st.integers(0, 400)] * 2),
    prefix=st.sampled_from(["", "passage: ", "x"]),
)
def test_ids_of_chunks_are_those_of_what_is_embedded(
    model: str,
    text: str,
    cuts: list[tuple[int, int]],
    lead: tuple[int, int] | None,
    prefix: str,
) -> None:
    def span(cut: tuple[int, int]) -> Span:
        return Span(*sorted(min(place, len(text)) for place in cut))

    above = None if lead is None else span(lead)
    spans = [span(cut) for cut in cuts]
    chunks = [Chunk(n, at.start, at.end, 1, lead=above) for n, at in enumerate(spans)]
    rows = own(model).rows(text, chunks, own(model).spans(text), prefix)
    expected = tokens(model).ids([prefix + words_of(text, chunk) for chunk in chunks])
    assert [row.tolist() for row in rows] == [row.tolist() for row in expected]


def test_spaced_words_are_looked_up_and_long_stretches_without_white_space_are_not() -> None:
    if not bundled_file():
        pytest.skip("the default model is not installed")
    text = "The wings lift. " * 9000  # more than is looked up at once
    spans = own(NAME).spans(text)
    assert spans.ids.tolist() == tokens(NAME).spans(text).ids.tolist()
    assert isinstance(spans, SpacedSpans)
    assert apart_in(spans) is not None
    assert apart_in(own(NAME).spans("机翼" * 2000)) is None
    assert apart_in(own(MINILM).spans(text)) is not None
