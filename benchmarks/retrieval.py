"""Retrieval quality per set and mode: nDCG@10 over documents, through the whole system."""

from collections.abc import Sequence
from typing import get_args

from benchmarks.data import (
    chunking,
    clapnq_answerable,
    clapnq_unanswerable,
    cmrc,
    cranfield,
    document_id,
    knowledge_base,
)
from ragkit import Hit, KnowledgeBase
from ragkit.types import Mode
from ragkit_eval.retrieval import ndcg
from ragkit_eval.sets import LabelledSet, Question

DEPTH = 50  # chunks fetched, so that ten documents are among them
MODES: tuple[Mode, ...] = get_args(Mode)


def run() -> str:
    lines = [
        "## Retrieval quality\n",
        "nDCG@10 over documents (chunking_evaluation: recall of gold excerpts, by characters, in"
        " the first 5 chunks), documents chunked and searched by ragkit's defaults, embedded with"
        " all-MiniLM-L6-v2, which reads English only.\n",
        "| set | questions | " + " | ".join(MODES) + " | hybrid minus better leg |",
        "|---|---|" + "---|" * (len(MODES) + 1),
    ]
    for labelled, distractors in (
        (cranfield(), []),
        (cmrc(), []),
        (clapnq_answerable(), []),
        (clapnq_answerable(), [clapnq_unanswerable()]),
        (chunking(), []),
    ):
        name = labelled.name + (" + unanswerable passages" if distractors else "")
        with knowledge_base(labelled, *distractors) as kb:
            scores = {mode: _mean(kb, labelled, mode) for mode in MODES}
        legs = max(scores["dense"], scores["lexical"])
        cells = " | ".join(f"{scores[mode]:.3f}" for mode in MODES)
        difference = scores["hybrid"] - legs
        lines.append(f"| {name} | {len(labelled.questions)} | {cells} | {difference:+.3f} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def _mean(kb: KnowledgeBase, labelled: LabelledSet, mode: Mode) -> float:
    scores = [_score(question, kb, mode) for question in labelled.questions]
    return sum(scores) / len(scores)


def _score(question: Question, kb: KnowledgeBase, mode: Mode) -> float:
    if question.excerpts:
        return excerpt_recall(question, kb.search(question.text, k=5, mode=mode))
    hits = kb.search(question.text, k=DEPTH, mode=mode)
    return ndcg(question.relevant, _documents(hits), k=10)


def _documents(hits: Sequence[Hit]) -> dict[str, float]:
    """Score each document by its best chunk."""
    best: dict[str, float] = {}
    for hit in hits:
        best.setdefault(document_id(hit.uri), hit.score)
    return best


def excerpt_recall(question: Question, hits: Sequence[Hit]) -> float:
    """Return the share of the gold excerpts' characters that the hits cover."""
    gold = {(e.document, i) for e in question.excerpts for i in range(e.start, e.end)}
    found = {(document_id(hit.uri), i) for hit in hits for i in range(hit.start, hit.end)}
    return len(gold & found) / len(gold)
