"""The task of retrieval: score a search's passages for the questions of a labelled set."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ragkit.errors import UsageError
from ragkit_eval.rag.passages import applies, check_depths, check_measures, passage_scores
from ragkit_eval.rag.task import item_of, labelled_questions
from ragkit_eval.run.item import Item, Method, Response, Scored
from ragkit_eval.sets import LabelledSet, Question

DOCUMENTS: Final = ("ndcg@10", "map", "mrr", "recall@10", "success@1", "success@5")
SPANS: Final = ("span_recall@5", "span_precision@5", "span_iou@5")
ANSWERS: Final = ("answer_found@5",)


class RetrievalTask:
    """A task as `ragkit_eval.run.item.Task` defines it.

    `left_out` counts the questions that are not scored: the unanswerable ones, and those without a
    label that the first measure needs.
    """

    version = "2"
    method: Method = "rag"
    sampling: Mapping[str, Any] = {}

    def __init__(
        self,
        labelled: LabelledSet,
        *,
        measures: Sequence[str] = (),
        uris: Mapping[str, str] | None = None,
    ) -> None:
        check_measures(measures)
        check_depths(measures)
        questions = [
            (question, labels)
            for question, labels in labelled_questions(labelled, uris)
            if question.answerable is not False
        ]
        families = [measures] if measures else [SPANS, DOCUMENTS, ANSWERS]
        # The finest labels that all questions have, else those that most have.
        self.metric = max(
            (family[0] for family in families),
            key=lambda name: sum(applies(name, labels) for _, labels in questions),
        )
        self.measures = tuple(measures or [name for family in families for name in family])
        self._items = [
            item_of(question, labels, _list_targets(question))
            for question, labels in questions
            if applies(self.metric, labels)
        ]
        if not self._items:
            raise UsageError(
                f"no question of {labelled.name} has a label that {self.metric} needs: label"
                " documents, spans or answers, or choose other measures"
            )
        self.left_out = len(labelled.questions) - len(self._items)
        self.name = f"retrieval:{labelled.name}"
        self.data_hash = labelled.data_hash

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signatures of the measures; the standard ones are trec_eval's."""
        return {name: f"{name}|task:retrieval|v:{self.version}" for name in self.measures}

    def items(self) -> Iterator[Item]:
        """Yield the questions that can be scored, in the set's order."""
        return iter(self._items)

    def score(self, item: Item, response: Response) -> Scored:
        """Score the passages in a response's detail."""
        hits = response.detail["hits"]
        best = hits[0]["uri"] if hits else ""
        return Scored(best, passage_scores(self.measures, item.extra, hits))


def _list_targets(question: Question) -> tuple[str, ...]:
    """Return the documents to find, by the set's names, which do not depend on a collection."""
    documents = [name for name, grade in question.relevant.items() if grade > 0]
    return tuple(documents or dict.fromkeys(excerpt.document for excerpt in question.excerpts))


def retrieval_task(
    labelled: LabelledSet,
    measures: Sequence[str] = (),
    *,
    uris: Mapping[str, str] | None = None,
) -> RetrievalTask:
    """Make the task of retrieving what a set's labels name; ask its items with `search_ask`.

    Without `measures` they are those that the labels allow. `uris` maps the labels' documents to a
    collection's, as `locate` returns them. Raises UsageError for an unknown measure, and when no
    question has a label.
    """
    return RetrievalTask(labelled, measures=measures, uris=uris)
