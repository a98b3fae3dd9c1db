"""The signals of claims and their sources, with cosines where the embedding model gives them.

All sentences of an answer that were not embedded lately are embedded in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.answer.check.claim_signals import (
    BY_MODEL,
    BY_WORDS,
    Signals,
    Weights,
    choose_candidates,
    claim_signals,
)
from ragkit.answer.meaning import READ, cut_to_model, known_model
from ragkit.embed.current import latest
from ragkit.embed.recent import embed_sentences
from ragkit.errors import ModelError

if TYPE_CHECKING:
    from ragkit.answer.check.sentence import PreparedSentence
    from ragkit.answer.check.support import Evidence
    from ragkit.contracts import Embedder

Pair = tuple[str, Sequence[str]]  # a claim, and the sources' sentences


@dataclass(frozen=True, slots=True)
class Compared:
    """A claim and its evidence."""

    claim: PreparedSentence
    evidence: Sequence[Evidence]


def read_signals(
    claims: Sequence[Compared], embedder: Embedder | None
) -> list[tuple[Signals, Weights]]:
    """Read the signals of claims, each with the weights to judge it by.

    The weights are the embedder's where they are known and it reads the claim, else those of words.
    """
    fitted = BY_WORDS if embedder is None or not claims else weights_of(embedder)
    chosen = [choose_candidates(pair.claim, pair.evidence) for pair in claims]
    near: list[list[float]] = [[] for _ in claims]
    if embedder is not None and fitted is not BY_WORDS:
        pairs = [
            (pair.claim.text, [sentence.text for sentence in sentences])
            for pair, sentences in zip(claims, chosen, strict=True)
        ]
        near = cosines(embedder, pairs)
    return [
        (
            claim_signals(pair.claim, pair.evidence, sentences, values),
            fitted if values else BY_WORDS,
        )
        for pair, sentences, values in zip(claims, chosen, near, strict=True)
    ]


def weights_of(embedder: Embedder) -> Weights:
    """Return the weights that were fitted with a model; BY_WORDS for any other.

    Also for a model that cannot be loaded, as a search by words alone does not need it.
    """
    try:
        embedder.load()
    except ModelError:
        return BY_WORDS
    return BY_MODEL.get(known_model(embedder.space), BY_WORDS)


def cosines(embedder: Embedder, pairs: Sequence[Pair]) -> list[list[float]]:
    """Return the cosines of each claim with its sentences; none where the model does not read it.

    A text that is too long for the model is cut.
    """
    model = latest(embedder)
    read = [model.reads(claim) >= READ for claim, _ in pairs]
    texts = dict.fromkeys(
        text
        for (claim, sentences), is_read in zip(pairs, read, strict=True)
        if is_read
        for text in (claim, *sentences)
    )
    if not texts:
        return [[] for _ in pairs]
    vectors = embed_sentences(model, [cut_to_model(model, text) for text in texts])
    row_of = {text: row for row, text in enumerate(texts)}
    listed: list[list[float]] = []
    for (claim, sentences), is_read in zip(pairs, read, strict=True):
        rows = [row_of[sentence] for sentence in sentences] if is_read else []
        listed.append((vectors[rows] @ vectors[row_of[claim]]).tolist() if rows else [])
    return listed
