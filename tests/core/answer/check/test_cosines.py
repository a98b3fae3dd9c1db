"""Cosines of claims and their sentences: one batch, only where the model reads and is known."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragkit.answer.check.claim_signals import BY_MODEL, BY_WORDS
from ragkit.answer.check.cosines import Compared, cosines, read_signals, weights_of
from ragkit.answer.check.sentence import PreparedSentence
from ragkit.answer.check.support import Evidence
from ragkit.embed import bundled
from ragkit.errors import ModelError
from ragkit.testing import FakeEmbedder
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

KNOWN = "multilingual-e5-small"


def revision_of(model: str) -> str:
    return bundled.revision() if model == bundled.NAME else "1"


class Named(FakeEmbedder):
    """A fake with another model's name that counts its batches and reads no Chinese."""

    def __init__(self, model: str, *, max_tokens: int = 64, revision: str = "") -> None:
        super().__init__(max_tokens=max_tokens)
        self._model = model
        self._revision = revision or revision_of(model)
        self.batches: list[Sequence[str]] = []

    @property
    def space(self) -> EmbeddingSpace:
        return replace(super().space, model=self._model, revision=self._revision)

    def embed_passages(self, texts: Sequence[str]) -> "Vectors":
        self.batches.append(texts)
        return super().embed_passages(texts)

    def reads(self, text: str) -> float:
        return float(text.isascii())


class Absent(FakeEmbedder):
    def load(self) -> None:
        raise ModelError("it is not on this machine")


def test_weights_go_by_the_models_name() -> None:
    assert weights_of(Named(KNOWN)) is BY_MODEL[KNOWN]
    # As it is published, without the projection, its cosines are others.
    assert weights_of(Named(f"intfloat/{KNOWN}")) is BY_WORDS
    assert weights_of(Named(KNOWN, revision="another")) is BY_WORDS
    minilm = "all-MiniLM-L6-v2"
    assert weights_of(Named(f"sentence-transformers/{minilm}")) is BY_MODEL[minilm]
    assert weights_of(FakeEmbedder()) is BY_WORDS
    assert weights_of(Absent()) is BY_WORDS


def test_all_claims_of_an_answer_are_embedded_at_once_each_text_once() -> None:
    source = [Evidence(["The pump weighs 40 kg. Its lid is red."])]
    claims = [
        Compared(PreparedSentence(text), source) for text in ("A pump is heavy.", "The lid is red.")
    ]
    model = Named(KNOWN)
    compared = read_signals(claims, model)
    assert [len(set(batch)) == len(batch) for batch in model.batches] == [True]
    assert all(weights is BY_MODEL[KNOWN] for _, weights in compared)
    assert all(read.cosine is not None for read, _ in compared)


def test_a_claim_that_the_model_does_not_read_is_judged_by_words() -> None:
    source = [Evidence(["水泵重四十公斤。"])]
    model = Named(KNOWN)
    ((read, weights),) = read_signals(
        [Compared(PreparedSentence("水泵重四十公斤。"), source)], model
    )
    assert (read.cosine, weights, model.batches) == (None, BY_WORDS, [])


def test_without_a_known_model_nothing_is_embedded() -> None:
    source = [Evidence(["The pump weighs 40 kg."])]
    for model in (None, Named("somebody's")):
        ((read, weights),) = read_signals(
            [Compared(PreparedSentence("It is heavy."), source)], model
        )
        assert (read.cosine, weights) == (None, BY_WORDS)
        assert model is None or model.batches == []
    assert read_signals([], Absent()) == []


def test_a_text_that_is_too_long_for_the_model_is_cut() -> None:
    model = Named(KNOWN, max_tokens=4)
    model.load()
    ((near,),) = cosines(model, [("one two three four five six", ["one two three four"])])
    assert round(near, 3) == 1.0
