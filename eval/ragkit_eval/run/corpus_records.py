"""Counts of a run's items for the metrics that score a whole set: BLEU, chrF and TER.

A run has each item's own score of them. That of the set comes from the predictions and targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.errors import RagkitError
from ragkit_eval.metrics.corpus_statistics import CorpusScore
from ragkit_eval.run.record import Record
from ragkit_eval.stats.bootstrap import SAMPLES, Interval
from ragkit_eval.stats.corpus import corpus_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NAMES: Final = ("bleu", "chrf", "chrf++", "1-ter")  # as signatures begin
_CHECKED: Final = 20  # items whose own score is computed again


@dataclass(frozen=True, slots=True)
class Counts:
    """The items that have a value, as rows of counts, shape (items, columns), with clusters."""

    rows: NDArray[np.float64]
    clusters: tuple[str, ...]
    of_set: CorpusScore


def is_corpus_metric(signature: str) -> bool:
    """Tell whether a metric of this signature scores a set by sums over its items."""
    return signature.partition("|")[0] in _NAMES


def count_records(name: str, signature: str, records: Sequence[Record]) -> Counts | None:
    """Count the records that have a value of a corpus metric; an error counts as an empty text.

    So does an answer that was scored 0 because it refused. Returns None for any other metric, and
    where the items' own scores cannot be had from their texts: the run was scored by another
    version, or on other texts than it holds.
    """
    import numpy as np

    if not is_corpus_metric(signature):
        return None
    from ragkit_eval.metrics.registry import text_metric

    try:
        metric = text_metric(name)
    except RagkitError:  # the metric of another program, or a tokenizer that is not here
        return None
    counted = [record for record in records if record.value(name) is not None]
    if metric.of_corpus is None or metric.signature != signature or not counted:
        return None
    if not all(record.targets for record in counted):
        return None
    texts: list[str] = []
    for place, record in enumerate(counted):
        text = record.prediction if record.status != "error" else ""
        value = record.value(name)
        if record.status != "error" and (place < _CHECKED or value == 0):
            computed = metric.item(text, record.targets)
            if abs(computed - (value or 0.0)) > 1e-6:
                if value != 0:
                    return None
                text = ""
        texts.append(text)
    rows = metric.of_corpus.count(texts, [record.targets for record in counted])
    clusters = tuple(record.cluster for record in counted)
    return Counts(np.asarray(rows), clusters, metric.of_corpus)


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
        counts.of_set.score,
        samples=samples,
        bounds=counts.of_set.bounds,
    )
