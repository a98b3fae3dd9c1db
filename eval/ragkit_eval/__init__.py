"""Metrics, tasks and runs; `ragkit_eval.compare` and `ragkit_eval.report` judge runs."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.metrics.registry import text_metric as text_metric
    from ragkit_eval.rag import knowledge_ask as knowledge_ask
    from ragkit_eval.rag import rag_task as rag_task
    from ragkit_eval.rag import retrieval_task as retrieval_task
    from ragkit_eval.retrieval import average_precision as average_precision
    from ragkit_eval.retrieval import evaluate_run as evaluate_run
    from ragkit_eval.retrieval import measures as measures
    from ragkit_eval.retrieval import ndcg as ndcg
    from ragkit_eval.retrieval import ranking as ranking
    from ragkit_eval.retrieval import recall as recall
    from ragkit_eval.retrieval import reciprocal_rank as reciprocal_rank
    from ragkit_eval.run import evaluate as evaluate
    from ragkit_eval.run import run_items as run_items
    from ragkit_eval.run import summarise as summarise
    from ragkit_eval.run.item import Item as Item
    from ragkit_eval.run.item import Response as Response
    from ragkit_eval.run.item import Scored as Scored
    from ragkit_eval.run.record import Record as Record
    from ragkit_eval.run.record import Run as Run
    from ragkit_eval.run.record import read_run as read_run
    from ragkit_eval.sets import read_set as read_set
    from ragkit_eval.tasks.registry import open_task as open_task
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_eval.run.item": "Item Response Scored",
            "ragkit_eval.metrics.registry": "text_metric",
            "ragkit_eval.rag": "knowledge_ask rag_task retrieval_task",
            "ragkit_eval.run.record": "Record Run read_run",
            "ragkit_eval.retrieval": (
                "average_precision evaluate_run measures ndcg ranking recall reciprocal_rank"
            ),
            "ragkit_eval.run": "evaluate run_items summarise",
            "ragkit_eval.sets": "read_set",
            "ragkit_eval.tasks.registry": "open_task",
        },
    )
