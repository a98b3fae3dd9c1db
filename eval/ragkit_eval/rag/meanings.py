"""Explain the metrics of a run on a knowledge base, in a few words each."""

from typing import Final

MEANINGS: Final = {
    "answer_score": "right: the expected words are there; refused where no document answers",
    "answer_found": "an accepted answer stands in a retrieved passage",
    "citation_recall": "sentences that are held by what they cite",
    "citation_validity": "citations that were retrieved, quoted exactly, and hold their sentence",
    "contains": "an accepted answer stands in the answer, word for word",
    "groundedness": "sentences that the retrieved passages hold",
    "language_match": "answers in the question's language",
    "map": "how high the right documents stand, all of them",
    "mrr": "how high the first right document stands",
    "ndcg@10": "how high the right documents stand among the first ten",
    "recall@10": "right documents that are among the first ten",
    "reference_recall": "words of the expected answer that are in the answer",
    "refused_rightly": "refused where no document answers, answered where one does",
    "span_iou": "overlap of the labelled place with what was retrieved",
    "span_precision": "of what was retrieved, the labelled place; low where passages are long",
    "span_recall": "of the labelled place, what was retrieved",
    "success@1": "questions whose first document is right",
    "success@5": "questions with a right document among the first five",
    "token_f1": "words shared with the expected answer; low where answers are whole sentences",
}


def explain_metric(metric: str) -> str:
    """Explain a metric in a few words; "" for an unknown metric."""
    return MEANINGS.get(metric) or MEANINGS.get(metric.partition("@")[0], "")
