"""Counts of a run's items for the metrics that score a whole set: BLEU, chrF, TER and gm_map.

A run has each item's own score of them. That of the set comes from the predictions and targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.errors import RagkitError
from ragkit_eval.metrics.metric import TextMetric
from ragkit_eval.retrieval.geometric_mean import geometric_rows, geometric_score
from ragkit_eval.retrieval.measures import GEOMETRIC
from ragkit_eval.run.record import Record
from ragkit_eval.stats.bootstrap import SAMPLES, Interval
from ragkit_eval.stats.corpus import corpus_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NAMES: Final = ("bleu", "chrf", "chrf++", "1-ter", GEOMETRIC)  # as signatures begin
_CHECKED: Final = 20  # items whose own score is computed again
_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Counts:
    """The items that have a value, as rows of counts, shape (items, columns), with clusters."""

    rows: NDArray[np.float64]
    clusters: tuple[str, ...]
    score: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    bounds: tuple[float, float] = (0.0, 1.0)


def is_corpus_metric(signature: str) -> bool:
    """Tell whether a metric of this signature scores a set by sums over its items."""
    return signature.partition("|")[0] in _NAMES


def count_records(name: str, signature: str, records: Sequence[Record]) -> Counts | None:
    """Count the records that have a value of a corpus metric; an error counts as an empty text.

    So does an answer that was scored 0 because it refused. Returns None for any other metric, and
    where the items' own scores cannot be had from their texts: the run was scored by another
    version, or on other texts than it holds.
    """
    if not is_corpus_metric(signature):
        return None
    if signature.partition("|")[0] == GEOMETRIC:
        return _count_geometric(name, records)
    counted = [record for record in records if record.value(name) is not None]
    metric = _metric_of(name, signature)
    of_set = metric.of_corpus if metric else None
    if metric is None or of_set is None or not all(record.targets for record in counted):
        return None
    texts = _texts_of(metric, name, counted)
    if not texts:
        return None
    rows = of_set.count(texts, [record.targets for record in counted])
    return Counts(rows, tuple(record.cluster for record in counted), of_set.score, of_set.bounds)


def _metric_of(name: str, signature: str) -> TextMetric | None:
    """Return the metric of a name; None for that of another version or another program."""
    from ragkit_eval.metrics.registry import text_metric

    try:
        metric = text_metric(name)
    except RagkitError:  # such as a tokenizer whose model is not here
        return None
    return metric if metric.signature == signature else None


def _texts_of(metric: TextMetric, name: str, records: Sequence[Record]) -> list[str] | None:
    """Return the texts that were scored; None if they are not those of the records."""
    texts: list[str] = []
    for place, record in enumerate(records):
        value, text = record.scores.get(name, 0.0), record.prediction
        if record.status == "error":
            text = ""
        elif (place < _CHECKED or value == 0) and (
            abs(metric.item(text, record.targets) - value) > _ROUNDING
        ):
            if value != 0:
                return None
            text = ""  # a refusal
        texts.append(text)
    return texts


def _count_geometric(name: str, records: Sequence[Record]) -> Counts | None:
    values = [(value, r.cluster) for r in records if (value := r.value(name)) is not None]
    if not values:
        return None
    rows = geometric_rows([value for value, _ in values])
    return Counts(rows, tuple(cluster for _, cluster in values), geometric_score)


def interval_of_set(
    name: str, signature: str, records: Sequence[Record], *, samples: int = SAMPLES
) -> Interval | None:
    """Score the whole set of records by a corpus metric; None as for `count_records`."""
    counts = count_records(name, signature, records)
    if counts is None:
        return None
    return corpus_interval(
        counts.rows,
        counts.clusters,
        counts.score,
        samples=samples,
        bounds=counts.bounds,
    )
