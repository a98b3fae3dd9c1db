"""Cosines of a question and sentences, by embedding models whose cosines are known.

Cosines of two models mean different things: unrelated texts have 0.05 in one and 0.75 in another.
So only models that signals were fitted with are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ragkit.embed import bundled
from ragkit.embed.current import latest
from ragkit.embed.find import MINILM
from ragkit.embed.recent import embed_question, embed_sentences
from ragkit.errors import ModelError

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.types import EmbeddingSpace

READ: Final = 0.5  # share of a text; a cosine of a text read by half says little; by judgement


def known_model(space: EmbeddingSpace) -> str:
    """Name the model whose cosines the constants were fitted with, "" for any other.

    The bilingual model counts as packaged: as published, without the projection of
    `ragkit.embed.neutral`, its cosines differ.
    """
    if (space.model, space.revision) == (bundled.NAME, bundled.revision()):
        return bundled.NAME
    return MINILM if space.model.rpartition("/")[2] == MINILM else ""


class Meaning:
    """An embedding model as answers use it; loaded at the first question that it reads."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def model(self) -> str:
        """Name the model, "" for one whose cosines are unknown or that cannot be loaded."""
        try:
            model = latest(self._embedder)
            model.load()
        except ModelError:  # a search by words alone does not need it
            return ""
        return known_model(model.space)

    def reads(self, text: str) -> bool:
        """Tell whether the model was trained for the language of a text."""
        return latest(self._embedder).reads(text) >= READ

    def cosines(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the cosine of a question with each text; none where the model does not read it.

        A text that is too long for the model is cut.
        """
        if not texts or not self.model():
            return []
        model = latest(self._embedder)
        if model.reads(question) < READ:
            return []
        vectors = embed_sentences(model, [cut_to_model(model, text) for text in texts])
        cosines: list[float] = (vectors @ embed_question(model, question)).tolist()
        return cosines


def cut_to_model(model: Embedder, text: str) -> str:
    """Cut a text to the model's maximum length."""
    spans = model.token_spans(text)
    return text if len(spans) <= model.max_tokens else text[: spans[model.max_tokens].start]
