"""Scores of predictions and of retrieval runs made elsewhere, and the run files they become."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from ragkit.errors import UsageError
from ragkit_eval.item import Item
from ragkit_eval.metrics.function import FunctionMetric
from ragkit_eval.metrics.metric import TextMetric
from ragkit_eval.predictions import Prediction
from ragkit_eval.record import Header, Record, TaskHeader, header_line, record_line
from ragkit_eval.stats import mean_interval

GRADED_OK = 0.5  # from this value of the first metric on an item counts as right


@dataclass(frozen=True, slots=True)
class Score:
    """A metric over the whole set. `low` and `high` bound the mean of items at 95%; a metric that
    is no mean of items has neither. `detail` holds what else the metric tells."""

    value: float
    signature: str
    low: float | None = None
    high: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """Scores by metric, of the whole and of each item; `left_out` could not be scored."""

    scores: Mapping[str, Score]
    items: tuple[Item, ...]
    predictions: tuple[str, ...]
    values: tuple[Mapping[str, float], ...]
    left_out: tuple[str, ...] = ()


def score_texts(predictions: Sequence[Prediction], metrics: Sequence[TextMetric]) -> ScoredSet:
    """Score predictions by each metric. Raises UsageError for a value that is no finite number."""
    values: list[dict[str, float]] = [{} for _ in predictions]
    for metric in metrics:
        for one, scores in zip(predictions, values, strict=True):
            scores[metric.name] = metric.item(one.text, one.references)
            if not math.isfinite(scores[metric.name]):
                raise UsageError(
                    f"{one.where}: {metric.name} is {scores[metric.name]}, no finite number"
                )
    clusters = [one.cluster for one in predictions]
    return ScoredSet(
        scores={
            metric.name: _whole(metric, predictions, [one[metric.name] for one in values], clusters)
            for metric in metrics
        },
        items=tuple(
            Item(one.id, one.question, one.references, group=one.group, cluster=one.cluster)
            for one in predictions
        ),
        predictions=tuple(one.text for one in predictions),
        values=tuple(values),
    )


def score_retrieval(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    measures: Sequence[str],
    *,
    all_judged: bool = False,
) -> ScoredSet:
    """Score a retrieval run by measures such as "ndcg@10"; queries that cannot be are left out.

    `all_judged` counts a judged query that the run lacks as 0. Raises UsageError.
    """
    from ragkit_eval.retrieval import evaluate_run, ranking

    found = evaluate_run(qrels, run, measures, all_judged=all_judged)
    queries = list(found.per_query)
    return ScoredSet(
        scores={
            name: _mean(
                [found.per_query[query][name] for query in queries],
                [""] * len(queries),
                f"{name}|as:trec_eval|all_judged:{'yes' if all_judged else 'no'}|v:1",
            )
            for name in measures
        },
        items=tuple(
            Item(query, "", tuple(doc for doc, grade in sorted(qrels[query].items()) if grade > 0))
            for query in queries
        ),
        predictions=tuple(" ".join(ranking(run.get(query, {}))[:10]) for query in queries),
        values=tuple(found.per_query[query] for query in queries),
        left_out=found.left_out,
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


def _whole(
    metric: TextMetric,
    predictions: Sequence[Prediction],
    values: Sequence[float],
    clusters: Sequence[str],
) -> Score:
    if isinstance(metric, FunctionMetric) and metric.score_corpus is None:
        return _mean(values, clusters, metric.signature)
    texts, references = [one.text for one in predictions], [one.references for one in predictions]
    return Score(
        metric.corpus(texts, references),
        metric.signature,
        detail={"mean_of_items": fmean(values)} | _bleu(metric.name, texts, references),
    )


def _bleu(name: str, texts: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the precisions and the brevity penalty, where the metric is BLEU."""
    family, _, tokenizer = name.partition(":")
    if family != "bleu":
        return {}
    from ragkit_eval.metrics.bleu import bleu

    whole = bleu(texts, references, tokenizer=tokenizer or None)  # type: ignore[arg-type]
    return {
        "precisions": list(whole.precisions),
        "brevity_penalty": whole.brevity_penalty,
        "tokenizer": whole.tokenizer,
    }


def _mean(values: Sequence[float], clusters: Sequence[str], signature: str) -> Score:
    interval = mean_interval(values, clusters)
    return Score(interval.mean, signature, interval.low, interval.high)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
