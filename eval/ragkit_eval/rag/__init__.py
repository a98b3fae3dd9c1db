"""Evaluate a knowledge base on a labelled set: its search, and its answers.

Both are tasks, so that their runs are run files to compare, gate and report.
"""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.rag.answer_task import rag_task as rag_task
    from ragkit_eval.rag.ask import knowledge_ask as knowledge_ask
    from ragkit_eval.rag.ask import search_ask as search_ask
    from ragkit_eval.rag.labels import locate as locate
    from ragkit_eval.rag.model import model_of as model_of
    from ragkit_eval.rag.search_task import retrieval_task as retrieval_task
    from ragkit_eval.rag.summary import RagSummary as RagSummary
    from ragkit_eval.rag.summary import sum_up as sum_up
    from ragkit_eval.rag.task_run import run_task as run_task
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_eval.rag.answer_task": "rag_task",
            "ragkit_eval.rag.ask": "knowledge_ask search_ask",
            "ragkit_eval.rag.search_task": "retrieval_task",
            "ragkit_eval.rag.labels": "locate",
            "ragkit_eval.rag.model": "model_of",
            "ragkit_eval.rag.task_run": "run_task",
            "ragkit_eval.rag.summary": "RagSummary sum_up",
        },
    )
