"""What rows are like: lengths, repetition, languages, and rows that the base model finds odd.

An odd row is listed for review, and stays: a hard row and a mislabelled one look the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.text.analyse import analyse
from ragkit.types import Span
from ragkit_tune.data.checks import Row
from ragkit_tune.data.questions import Place, drawn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Embedder, Store

BATCH: Final = 32  # passages that a query's positive is compared with, as in a step of training
SCALE: Final = 20.0  # of cosines: sentence-transformers' default for this loss
ODD: Final = 3.0  # standard deviations above the mean
NGRAM: Final = 5  # words in a row, or pairs of Chinese characters; arbitrary


@dataclass(frozen=True, slots=True)
class Odd:
    """A row whose loss under the base model is `z` standard deviations above the mean."""

    row: Row
    loss: float
    z: float


def describe(rows: Sequence[Row], embedder: Embedder, max_tokens: int) -> dict[str, Any]:
    """Return the lengths of queries and passages in the base's tokens, repetition and languages.

    `truncated` counts rows whose passage has more than `max_tokens` tokens, or than the model
    reads, the rest of which is not trained on; `answers_cut` counts those whose answer stands in
    that rest.
    """
    max_tokens = min(max_tokens, embedder.max_tokens)
    passages = {row.place.passage.chunk: row.place.passage.text for row in rows}
    tokens = {chunk: embedder.token_spans(text) for chunk, text in passages.items()}
    lengths = {chunk: len(spans) for chunk, spans in tokens.items()}
    queries = [len(embedder.token_spans(row.question.text)) for row in rows]
    positives = [lengths[row.place.passage.chunk] for row in rows]
    return {
        "query_tokens": _quartiles(queries),
        "positive_tokens": _quartiles(positives),
        "max_tokens": max_tokens,
        "truncated": sum(length > max_tokens for length in positives),
        "answers_cut": sum(_is_cut(row.place, tokens, max_tokens) for row in rows),
        "passages": len(passages),
        "repetition": round(repetition(list(passages.values())), 4),
        "languages": dict(Counter(row.question.language or "?" for row in rows).most_common()),
        "negatives_a_row": round(
            sum(len(row.rivals.negatives) for row in rows) / max(1, len(rows)), 2
        ),
    }


def repetition(texts: Sequence[str]) -> float:
    """Return the share of runs of five terms that some other place has too, 0 to 1.

    >>> repetition(["a b c d e f", "a b c d e g"])
    0.5
    """
    runs = Counter(
        tuple(terms[n : n + NGRAM])
        for terms in map(analyse, texts)
        for n in range(len(terms) - NGRAM + 1)
    )
    repeated = sum(count for count in runs.values() if count > 1)
    return repeated / max(1, runs.total())


def find_odd(rows: Sequence[Row], store: Store, embedder: Embedder, seed: int) -> list[Odd]:
    """Return the rows with a loss of z above 3 under the base model, the oddest first.

    The loss is that of a training step: the cross-entropy of the positive among the positives of
    its batch (MultipleNegativesRankingLoss; Henderson et al. 2017, arXiv:1705.00652). Rows that
    the model does not read have none.
    """
    import numpy as np

    readable = [row for row in rows if row.rivals.vector is not None]
    readable.sort(key=lambda row: drawn(seed, "batch", row.question.text, row.place.passage.start))
    if len(readable) < BATCH:
        return []
    chunks = [row.place.passage.chunk for row in readable]
    with store.snapshot() as reader:
        vectors = reader.vectors(embedder.space, list(dict.fromkeys(chunks)))
    losses = np.concatenate(
        [
            _batch_losses(readable[n : n + BATCH], vectors)
            for n in range(0, len(readable) - BATCH // 2, BATCH)
        ]
    )
    spread = float(losses.std())
    if spread == 0.0:
        return []
    scores = (losses - losses.mean()) / spread
    odd = [
        Odd(row, round(float(loss), 4), round(float(z), 2))
        for row, loss, z in zip(readable, losses, scores, strict=False)
        if z > ODD
    ]
    return sorted(odd, key=lambda item: -item.z)


def _batch_losses(rows: Sequence[Row], vectors: Any) -> NDArray[np.float64]:
    """Return each row's loss; another row's positive that answers this one too does not count."""
    import numpy as np

    queried = [row.rivals.vector for row in rows if row.rivals.vector is not None]
    queries = np.stack(queried).astype(np.float64)
    chunks = np.array([row.place.passage.chunk for row in rows])
    positives = np.stack([vectors[chunk] for chunk in chunks]).astype(np.float64)
    logits = SCALE * queries @ positives.T
    answers = [{place.passage.chunk for place in row.question.places} for row in rows]
    for n, chunk in enumerate(chunks):
        for m, accepted in enumerate(answers):
            if m != n and (chunk in accepted or chunk == chunks[m]):
                logits[m, n] = -np.inf
    largest = logits.max(axis=1, keepdims=True)
    total = largest[:, 0] + np.log(np.exp(logits - largest).sum(axis=1))
    losses: NDArray[np.float64] = total - np.diag(logits)
    return losses


def _is_cut(place: Place, tokens: Mapping[int, Sequence[Span]], max_tokens: int) -> bool:
    """Tell whether a labelled span ends behind the last token that is trained on."""
    spans = tokens[place.passage.chunk]
    if not place.is_exact or len(spans) <= max_tokens:
        return False
    return place.span.end - place.passage.start > spans[max_tokens - 1].end


def _quartiles(values: Sequence[int]) -> dict[str, int]:
    import numpy as np

    names = ("least", "quarter", "half", "three_quarters", "most")
    numbers = np.percentile(values or [0], [0, 25, 50, 75, 100], method="nearest")
    return {name: int(number) for name, number in zip(names, numbers, strict=True)}
