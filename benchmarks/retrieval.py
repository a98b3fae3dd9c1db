"""Retrieval quality per set, mode and fusion, through the whole system, with paired intervals."""

from collections.abc import Sequence

from benchmarks.data import (
    chunking,
    clapnq_answerable,
    clapnq_unanswerable,
    cmrc,
    cranfield,
    document_id,
    knowledge_base,
    reading,
)
from ragkit import Hit, KnowledgeBase
from ragkit.retrieve.candidates import Fusion
from ragkit.retrieve.search import Scoring
from ragkit.types import Mode
from ragkit_eval.retrieval import ndcg
from ragkit_eval.sets import LabelledSet, Question
from ragkit_eval.stats import paired_difference

DEPTH = 50  # chunks fetched, so that ten documents are among them
LEGS: tuple[Mode, ...] = ("lexical", "dense")
FUSIONS: tuple[Fusion, ...] = ("rrf", "weighted", "calibrated")
HEAD = """## Retrieval quality

nDCG@10 over documents (chunking_evaluation: recall of gold excerpts, by characters, in the first 5
chunks), documents chunked and searched by ragkit's defaults, embedded with all-MiniLM-L6-v2, which
reads English only. Columns: each leg alone; both by reciprocal rank, by the weighted sum with half
the weight on each, and by the default. AGIEval: the texts of its reading tasks, searched by
question and right option, which nobody labelled for retrieval. The last two columns are the default
less each leg, with 95% intervals, paired by question, resampled by passage.
"""


def run() -> str:
    ways = [*LEGS, *FUSIONS]
    lines = [
        HEAD,
        f"| set | questions | {' | '.join(ways)} | less lexical | less dense |",
        "|---|---|" + "---|" * (len(ways) + 2),
    ]
    for labelled, distractors in (
        (cranfield(), []),
        (cmrc(), []),
        (clapnq_answerable(), []),
        (clapnq_answerable(), [clapnq_unanswerable()]),
        (chunking(), []),
        (reading("English"), []),
        (reading("Chinese"), []),
    ):
        name = labelled.name + (" + unanswerable passages" if distractors else "")
        with knowledge_base(labelled, *distractors) as kb:
            scores: dict[str, list[float]] = {leg: _scores(kb, labelled, leg) for leg in LEGS}
            for fusion in FUSIONS:
                scores[fusion] = _scores(kb, labelled, "hybrid", fusion)
        lines.append(_row(name, labelled, scores))
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def _row(name: str, labelled: LabelledSet, scores: dict[str, list[float]]) -> str:
    means = [f"{sum(values) / len(values):.3f}" for values in scores.values()]
    clusters = [question.cluster for question in labelled.questions]
    if len(set(clusters)) < 30:  # five corpora: what a question is about says nothing
        clusters = [question.id for question in labelled.questions]
    intervals = [
        paired_difference(scores[leg], scores["calibrated"], clusters, samples=2000) for leg in LEGS
    ]
    differences = [f"{i.mean:+.3f} ({i.low:+.3f} to {i.high:+.3f})" for i in intervals]
    return f"| {' | '.join([name, str(len(labelled.questions)), *means, *differences])} |"


def _scores(
    kb: KnowledgeBase, labelled: LabelledSet, mode: Mode, fusion: Fusion = "calibrated"
) -> list[float]:
    pipeline = kb.retriever(mode)
    pipeline.retriever.scoring = Scoring(fusion)
    return [
        _score(question, pipeline.search(question.text, k=5 if question.excerpts else DEPTH))
        for question in labelled.questions
    ]


def _score(question: Question, hits: Sequence[Hit]) -> float:
    if question.excerpts:
        return excerpt_recall(question, hits)
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
