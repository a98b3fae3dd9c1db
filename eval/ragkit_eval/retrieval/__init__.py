"""Retrieval metrics as trec_eval defines them, and overlaps of character spans.

Imported eagerly: a lazy import would be hidden by the metric's file of the same name.
"""

from ragkit_eval.retrieval.average_precision import average_precision
from ragkit_eval.retrieval.bpref import bpref
from ragkit_eval.retrieval.expected_reciprocal_rank import expected_reciprocal_rank
from ragkit_eval.retrieval.measures import MEASURES, RunScores, evaluate_run, measures
from ragkit_eval.retrieval.ndcg import ndcg
from ragkit_eval.retrieval.precision import precision
from ragkit_eval.retrieval.r_precision import r_precision
from ragkit_eval.retrieval.rank_biased_precision import rank_biased_precision
from ragkit_eval.retrieval.ranking import Judgements, Run, ranking
from ragkit_eval.retrieval.recall import recall
from ragkit_eval.retrieval.reciprocal_rank import reciprocal_rank
from ragkit_eval.retrieval.spans import SpanScores, span_scores
from ragkit_eval.retrieval.success import success
from ragkit_eval.retrieval.trec import read_qrels, read_trec_run

__all__ = [
    "MEASURES",
    "Judgements",
    "Run",
    "RunScores",
    "SpanScores",
    "average_precision",
    "bpref",
    "evaluate_run",
    "expected_reciprocal_rank",
    "measures",
    "ndcg",
    "precision",
    "r_precision",
    "rank_biased_precision",
    "ranking",
    "read_qrels",
    "read_trec_run",
    "recall",
    "reciprocal_rank",
    "span_scores",
    "success",
]
