"""The task of answering: score a knowledge base's answers to the questions of a labelled set."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ragkit.errors import UsageError
from ragkit.text.markers import without_markers
from ragkit_eval.answers import (
    citation_recall,
    citation_validity,
    groundedness,
    language_match,
)
from ragkit_eval.metrics.contains import contains
from ragkit_eval.metrics.contains import signature as contains_signature
from ragkit_eval.metrics.registry import text_metric
from ragkit_eval.rag.passages import Labels, check_measures, passage_scores
from ragkit_eval.rag.task import item_of, labelled_questions
from ragkit_eval.run.item import Item, Method, Response, Scored
from ragkit_eval.sets import LabelledSet

TEXT_METRICS: Final = ("reference_recall", "token_f1")
MEASURES: Final = (
    "ndcg@10",
    "recall@10",
    "span_recall",
    "span_precision",
    "span_iou",
    "answer_found",
)


class RagTask:
    """A task as `ragkit_eval.run.item.Task` defines it.

    Its metric is `answer_score`, which every item has. Of an answerable question it is the
    reference recall, 0 for a refusal; without a reference, whether it was answered. Of an
    unanswerable question it is whether it was refused.
    """

    version = "2"
    method: Method = "rag"
    metric = "answer_score"
    sampling: Mapping[str, Any] = {}

    def __init__(
        self,
        labelled: LabelledSet,
        *,
        metrics: Sequence[str] = TEXT_METRICS,
        measures: Sequence[str] = MEASURES,
        uris: Mapping[str, str] | None = None,
    ) -> None:
        check_measures(measures)
        specs = dict.fromkeys((*TEXT_METRICS, *metrics))
        self._text_metrics = tuple(text_metric(spec) for spec in specs)
        self._measures = tuple(measures)
        self._items = [
            item_of(question, labels, question.expected)
            for question, labels in labelled_questions(labelled, uris)
        ]
        unlabelled = [item for item in self._items if not _is_labelled(item.extra)]
        if unlabelled:
            raise UsageError(
                f"{len(unlabelled)} questions of {labelled.name}, first {unlabelled[0].id!r}, say"
                ' neither an answer nor whether there is one: add "answers" or "answerable", or use'
                " 'ragkit eval retrieval'"
            )
        self.name = f"rag:{labelled.name}"
        self.data_hash = labelled.data_hash

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the metrics' signatures for the run's header."""
        texts = {metric.name: metric.signature for metric in self._text_metrics}
        names = [self.metric, "refused_rightly", "citation_validity", "citation_recall"]
        names += ["groundedness", "language_match", *self._measures]
        signed = {name: f"{name}|task:rag|v:{self.version}" for name in names}
        return signed | texts | {"contains": contains_signature()}

    def items(self) -> Iterator[Item]:
        """Yield the questions in the set's order."""
        return iter(self._items)

    def score(self, item: Item, response: Response) -> Scored:
        """Score one answer, from the detail that `knowledge_ask` stores."""
        answer, labels = response.detail, item.extra
        text = " ".join(without_markers(response.text).split())
        refused = bool(answer["refused"])
        scores = {"language_match": float(language_match(item.question, response.text))}
        if labels["answerable"] is not None:
            scores["refused_rightly"] = float(refused is not labels["answerable"])
        if labels["answerable"] is False:
            return Scored(text, {self.metric: float(refused), **scores})
        scores |= self._score_text(text, labels, refused=refused)
        scores |= passage_scores(self._measures, labels, answer["hits"])
        if not refused:
            scores |= _score_citations(answer)
        right = scores.get(TEXT_METRICS[0], float(not refused))
        return Scored(text, {self.metric: right, **scores})

    def _score_text(self, text: str, labels: Labels, *, refused: bool) -> dict[str, float]:
        scores = {}
        if references := labels["references"]:
            for metric in self._text_metrics:
                scores[metric.name] = 0.0 if refused else metric.item(text, references)
        if labels["answers"]:
            scores["contains"] = float(not refused and contains(text, labels["answers"]))
        return scores


def rag_task(
    labelled: LabelledSet,
    *,
    metrics: Sequence[str] = (),
    uris: Mapping[str, str] | None = None,
) -> RagTask:
    """Make the task of answering a set's questions; ask its items with `knowledge_ask`.

    `metrics` are text metrics besides reference recall and token F1, as `ragkit eval score` names
    them. `uris` maps the labels' documents to a collection's, as `locate` returns them. Raises
    UsageError for questions without any label of the answer.
    """
    return RagTask(labelled, metrics=metrics, uris=uris)


def _is_labelled(labels: Labels) -> bool:
    return bool(labels["references"]) or labels["answerable"] is not None


def _score_citations(answer: Mapping[str, Any]) -> dict[str, float]:
    """Score the support of an answer's sentences; a refusal has no sentences to support."""
    validity = citation_validity(answer)
    scores = {"groundedness": groundedness(answer).score}
    if validity.cited:
        scores["citation_validity"] = validity.valid / validity.cited
    covered = citation_recall(answer)
    return scores if covered is None else scores | {"citation_recall": covered}
