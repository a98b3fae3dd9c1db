"""Retrieval quality per set, mode and fusion, through the whole system, with paired intervals."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
from ragkit.filters import Every
from ragkit.retrieve.candidates import Fusion
from ragkit.retrieve.duplicates import folded
from ragkit.retrieve.search import Scoring
from ragkit.types import Copy, Mode
from ragkit_eval.retrieval import ndcg, span_scores
from ragkit_eval.sets import Excerpt, LabelledSet, Question
from ragkit_eval.stats import paired_difference

DEPTH = 50  # chunks fetched, so that ten documents are among them
SHOWN = 5  # of them in which the excerpts' characters are counted
LEGS: tuple[Mode, ...] = ("lexical", "dense")
FUSIONS: tuple[Fusion, ...] = ("rrf", "weighted", "calibrated")
HEAD = """## Retrieval quality

nDCG@10 over documents; of chunking_evaluation over chunks, relevant when they hold half of a gold
excerpt, and the recall of the excerpts, by characters, in the first 5. Documents are chunked and
searched by ragkit's defaults, embedded with all-MiniLM-L6-v2, which reads English only. What says
the same, word for word, is shown once: the documents and places that a hit names besides its own
count right after it, and chunks of the same text are one. Columns: each leg alone; both by
reciprocal rank, by the weighted sum with half the weight on each, and by the default. AGIEval: the
texts of its reading tasks, searched by question and right option, which nobody labelled for
retrieval. The last two columns are the default less each leg, with 95% intervals, paired by
question, resampled by passage.
"""

Score = Callable[[Question, Sequence[Hit]], float]


def run() -> str:
    lines = [
        HEAD,
        f"| set | questions | {' | '.join([*LEGS, *FUSIONS])} | less lexical | less dense |",
        "|---|---|" + "---|" * (len(LEGS) + len(FUSIONS) + 2),
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
        for line in rows(labelled, *distractors):
            lines.append(line)
            print(line, flush=True)
    return "\n".join(lines) + "\n"


def rows(labelled: LabelledSet, *distractors: LabelledSet) -> Iterator[str]:
    """Yield a row of the table for each measure of a set, searched among other sets' documents."""
    scores: dict[str, dict[str, list[float]]] = {}
    with knowledge_base(labelled, *distractors) as kb:
        scorers = _scorers(kb, labelled)
        for leg in LEGS:
            scores[leg] = _scores(kb, labelled, scorers, leg)
        for fusion in FUSIONS:
            scores[fusion] = _scores(kb, labelled, scorers, "hybrid", fusion)
    name = labelled.name + (" + unanswerable passages" if distractors else "")
    for measure in scorers:
        of_measure = {way: found[measure] for way, found in scores.items()}
        yield _row(name + measure, labelled.questions, of_measure)


def _row(name: str, questions: Sequence[Question], scores: dict[str, list[float]]) -> str:
    means = [f"{sum(values) / len(values):.3f}" for values in scores.values()]
    clusters = [question.cluster for question in questions]
    if len(set(clusters)) < 30:  # five corpora: what a question is about says nothing
        clusters = [question.id for question in questions]
    intervals = [
        paired_difference(scores[leg], scores["calibrated"], clusters, samples=2000) for leg in LEGS
    ]
    differences = [f"{i.mean:+.3f} ({i.low:+.3f} to {i.high:+.3f})" for i in intervals]
    return f"| {' | '.join([name, str(len(questions)), *means, *differences])} |"


def _scores(
    kb: KnowledgeBase,
    labelled: LabelledSet,
    scorers: Mapping[str, Score],
    mode: Mode,
    fusion: Fusion = "calibrated",
) -> dict[str, list[float]]:
    """Score each question's hits by each measure."""
    pipeline = kb.retriever(mode)
    pipeline.retriever.scoring = Scoring(fusion)
    scores: dict[str, list[float]] = {measure: [] for measure in scorers}
    for question in labelled.questions:
        hits = pipeline.search(question.text, k=10 if question.excerpts else DEPTH)
        for measure, score in scorers.items():
            scores[measure].append(score(question, hits))
    return scores


def _scorers(kb: KnowledgeBase, labelled: LabelledSet) -> dict[str, Score]:
    """Say how a set's hits are scored, by what the row's name adds for it."""
    if not any(question.excerpts for question in labelled.questions):
        return {"": lambda question, hits: ndcg(question.relevant, by_document(hits), k=10)}
    chunks = every_chunk(kb)

    def by_chunk(question: Question, hits: Sequence[Hit]) -> float:
        run = _run(folded(hit.text) for hit in hits)
        return ndcg(holding_half(question.excerpts, chunks), run, k=10)

    return {", nDCG@10 by chunk": by_chunk, ", recall in 5 chunks": excerpt_recall}


def by_document(hits: Sequence[Hit]) -> dict[str, float]:
    """Put each document where its best chunk is, and one that says the same right after it."""
    return _run(document_id(place.uri) for place in named(hits))


def named(hits: Sequence[Hit]) -> Iterator[Hit | Copy]:
    """Yield the places that hits name: each one's own, then those where the same is said."""
    for hit in hits:
        yield hit
        yield from hit.duplicates


def _run(names: Iterable[str]) -> dict[str, float]:
    """Score names by their order, the first highest; a name stands where it is first."""
    return {name: -float(rank) for rank, name in enumerate(dict.fromkeys(names))}


def holding_half(excerpts: Sequence[Excerpt], chunks: Sequence[Hit]) -> dict[str, int]:
    """Grade the texts of chunks that hold half of an excerpt or more.

    Texts, since a label names one place of words that stand in several.
    """
    return {
        folded(chunk.text): 1
        for chunk in chunks
        for gold in excerpts
        if document_id(chunk.uri) == gold.document
        and 2 * (min(chunk.end, gold.end) - max(chunk.start, gold.start)) >= gold.end - gold.start
    }


def excerpt_recall(question: Question, hits: Sequence[Hit]) -> float:
    """Return the share of the excerpts' characters in the first hits, or said there as well."""
    found = [Excerpt(document_id(p.uri), p.start, p.end) for p in named(hits[:SHOWN])]
    return span_scores(question.excerpts, found).recall


def every_chunk(kb: KnowledgeBase) -> Sequence[Hit]:
    """Fetch every chunk of a knowledge base."""
    retriever = kb.retriever().retriever
    with retriever.store.snapshot() as reader:
        return reader.hits(reader.matching(retriever.collection, Every(())))
