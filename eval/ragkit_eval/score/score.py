"""Score predictions and retrieval runs of other programs, and write the scores as run files."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError
from ragkit_eval.metrics.metric import TextMetric
from ragkit_eval.run.item import Item
from ragkit_eval.run.record import Header, Record, TaskHeader, header_line, record_line
from ragkit_eval.score.predictions import Prediction
from ragkit_eval.stats import corpus_interval, mean_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GRADED_OK = 0.5  # an item counts as right from this value of the first metric


@dataclass(frozen=True, slots=True)
class Score:
    """A metric over the entire set.

    `low` and `high` bound the value at 95%. `signature` is the metric's, which runs share; `used`
    is that of a score of the whole set, with the tokenizer and the number of references of this
    set, "" for a mean of items. `detail` holds further values of the metric.
    """

    value: float
    signature: str
    low: float
    high: float
    detail: Mapping[str, Any] = field(default_factory=dict)
    used: str = ""


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """Scores by metric, of the set and of each item; `left_out` could not be scored."""

    scores: Mapping[str, Score]
    items: tuple[Item, ...]
    predictions: tuple[str, ...]
    values: tuple[Mapping[str, float], ...]
    left_out: tuple[str, ...] = ()


def score_texts(predictions: Sequence[Prediction], metrics: Sequence[TextMetric]) -> ScoredSet:
    """Score predictions by each metric. Raises UsageError for an infinite or undefined value."""
    values: list[dict[str, float]] = [{} for _ in predictions]
    for metric in metrics:
        for prediction, scores in zip(predictions, values, strict=True):
            scores[metric.name] = metric.item(prediction.text, prediction.references)
            if not math.isfinite(scores[metric.name]):
                raise UsageError(
                    f"{prediction.where}: {metric.name} is {scores[metric.name]}, no finite number"
                )
    clusters = [prediction.cluster for prediction in predictions]
    return ScoredSet(
        scores={
            metric.name: _score_set(
                metric, predictions, [scores[metric.name] for scores in values], clusters
            )
            for metric in metrics
        },
        items=tuple(
            Item(
                prediction.id,
                prediction.question,
                prediction.references,
                group=prediction.group,
                cluster=prediction.cluster,
            )
            for prediction in predictions
        ),
        predictions=tuple(prediction.text for prediction in predictions),
        values=tuple(values),
    )


def score_retrieval(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    measures: Sequence[str],
    *,
    all_judged: bool = False,
    count_empty: bool = False,
) -> ScoredSet:
    """Score a retrieval run by measures such as "ndcg@10"; queries without judgements are left out.

    `all_judged` counts a judged query that the run lacks as 0, `count_empty` one without a relevant
    document. Raises UsageError.
    """
    from ragkit_eval.retrieval import evaluate_run, ranking

    evaluation = evaluate_run(qrels, run, measures, all_judged=all_judged, count_empty=count_empty)
    queries = list(evaluation.per_query)
    options = f"all_judged:{'yes' if all_judged else 'no'}" + "|empty:0" * count_empty
    return ScoredSet(
        scores={
            name: _score_measure(
                name,
                [evaluation.per_query[query][name] for query in queries],
                f"{name}|as:trec_eval|{options}|v:1",
            )
            for name in measures
        },
        items=tuple(
            Item(
                query,
                "",
                tuple(document for document, grade in sorted(qrels[query].items()) if grade > 0),
            )
            for query in queries
        ),
        predictions=tuple(" ".join(ranking(run.get(query, {}))[:10]) for query in queries),
        values=tuple(evaluation.per_query[query] for query in queries),
        left_out=evaluation.left_out,
    )


def run_lines(scored: ScoredSet, *, task: str, method: str, name: str) -> str:
    """Write scores as a run file, which `ragkit eval compare`, `gate` and `report` read.

    The hashes cover the questions and references, so that predictions of other models for the same
    references can be compared with it.
    """
    from ragkit_eval.run.header import environment
    from ragkit_eval.tasks.hashing import prompt_hash

    first = next(iter(scored.scores))
    hashed, count = prompt_hash(scored.items)
    header = Header(
        tasks=(
            TaskHeader(
                name=task,
                version="1",
                method=method,
                metric=first,
                items=count,
                data_hash=_hash("\n".join(item.id for item in scored.items)),
                prompt_hash=hashed,
                metrics={name: score.signature for name, score in scored.scores.items()},
            ),
        ),
        model={"name": name},
        environment=environment(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    lines = [header_line(header)]
    for item, text, values in zip(scored.items, scored.predictions, scored.values, strict=True):
        record = Record(
            task=task,
            id=item.id,
            key=_hash("\0".join((item.id, item.prompt, text, *item.targets))),
            status="ok" if values[first] >= GRADED_OK else "wrong",
            prediction=text,
            targets=item.targets,
            scores=dict(values),
            group=item.group,
            cluster=item.cluster,
            question=item.prompt,
        )
        lines.append(record_line(record))
    return "\n".join(lines) + "\n"


def _score_set(
    metric: TextMetric,
    predictions: Sequence[Prediction],
    values: Sequence[float],
    clusters: Sequence[str],
) -> Score:
    of_set = metric.of_corpus
    if of_set is None:
        return _mean_score(values, clusters, metric.signature)
    texts, references = (
        [prediction.text for prediction in predictions],
        [prediction.references for prediction in predictions],
    )
    counts = of_set.count(texts, references)
    interval = corpus_interval(counts, clusters, of_set.score, bounds=of_set.bounds)
    detail = {"mean_of_items": fmean(values)} | _detail(metric.name, interval.mean, counts)
    used = of_set.describe(texts, references)
    return Score(interval.mean, metric.signature, interval.low, interval.high, detail, used)


def _detail(name: str, value: float, counts: Floats) -> dict[str, Any]:
    """Return BLEU's precisions and brevity penalty, and TER as others print it."""
    if name.partition(":")[0] == "bleu":
        from ragkit_eval.metrics.bleu import parts

        precisions, penalty = parts(counts.sum(0))
        return {"precisions": list(precisions), "brevity_penalty": penalty}
    return {"ter": 1 - value} if name == "1-ter" else {}


def _score_measure(name: str, values: Sequence[float], signature: str) -> Score:
    from ragkit_eval.retrieval.geometric_mean import geometric_rows, geometric_score
    from ragkit_eval.retrieval.measures import GEOMETRIC

    clusters = [""] * len(values)
    if name != GEOMETRIC:
        return _mean_score(values, clusters, signature)
    interval = corpus_interval(geometric_rows(values), clusters, geometric_score)
    return Score(interval.mean, signature, interval.low, interval.high)


def _mean_score(values: Sequence[float], clusters: Sequence[str], signature: str) -> Score:
    interval = mean_interval(values, clusters)
    return Score(interval.mean, signature, interval.low, interval.high)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
