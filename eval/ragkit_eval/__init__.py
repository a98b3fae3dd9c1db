"""Metrics as functions, over values alone."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.retrieval import average_precision as average_precision
    from ragkit_eval.retrieval import ndcg as ndcg
    from ragkit_eval.retrieval import ranking as ranking
    from ragkit_eval.retrieval import recall as recall
    from ragkit_eval.retrieval import reciprocal_rank as reciprocal_rank
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {"ragkit_eval.retrieval": "average_precision ndcg ranking recall reciprocal_rank"},
    )
