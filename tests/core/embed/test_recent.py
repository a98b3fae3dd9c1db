"""Vectors that are remembered: equal to those made anew, made once, and not for ever."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragkit.embed import recent
from ragkit.embed.recent import embed_question, embed_sentences, remember_question
from ragkit.testing import FakeEmbedder

if TYPE_CHECKING:
    from ragkit.contracts import Vectors


class Counting(FakeEmbedder):
    """A fake that notes what it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.load()
        self.embedded: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return super().embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        self.embedded.append(f"? {text}")
        return super().embed_query(text)


def test_each_sentence_is_embedded_once_and_comes_in_its_place() -> None:
    model = Counting()
    first = embed_sentences(model, ["wing", "tail", "wing"])
    second = embed_sentences(model, ["nose", "tail"])
    assert model.embedded == ["wing", "tail", "nose"]
    assert np.array_equal(first, FakeEmbedder.embed_passages(model, ["wing", "tail", "wing"]))
    assert np.array_equal(second, FakeEmbedder.embed_passages(model, ["nose", "tail"]))


def test_a_question_is_no_sentence_and_may_have_been_embedded_by_its_search() -> None:
    model = Counting()
    embed_sentences(model, ["wing"])
    embed_question(model, "wing")
    embed_question(model, "wing")
    remember_question(model, "tail", FakeEmbedder.embed_query(model, "tail"))
    assert np.array_equal(embed_question(model, "tail"), FakeEmbedder.embed_query(model, "tail"))
    assert model.embedded == ["wing", "? wing"]


def test_each_model_has_its_own_vectors_which_go_with_it() -> None:
    model, other = Counting(), Counting()
    embed_sentences(model, ["wing"])
    embed_sentences(other, ["wing"])
    assert other.embedded == ["wing"]
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None


def test_the_ones_that_were_not_asked_for_longest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recent, "_MOST", 2)
    model = Counting()
    for text in ("a", "b", "a", "c", "a", "b", "d" * 3000, "d" * 3000):
        embed_sentences(model, [text])
    assert model.embedded == ["a", "b", "c", "b", "d" * 3000, "d" * 3000]


def test_a_model_that_can_be_no_key_is_embedded_with_each_time() -> None:
    @dataclass
    class Unhashable(Counting):
        embedded: list[str]

    model = Unhashable([])
    FakeEmbedder.__init__(model)
    model.load()
    for _ in range(2):
        assert embed_sentences(model, ["wing"]).shape == (1, 256)
    assert model.embedded == ["wing", "wing"]
