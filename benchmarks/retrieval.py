"""Retrieval quality per set, leg and embedding model, through the whole system, with intervals."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

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
from benchmarks.everyday_set import NAMES, mixed_collection, questions
from ragkit import Hit, KnowledgeBase
from ragkit.embed.bundled import NAME as BILINGUAL
from ragkit.embed.find import MINILM
from ragkit.filters.tree import Every
from ragkit.retrieve.steps.duplicates import fold_text
from ragkit.types import Copy, Mode
from ragkit_eval.retrieval import ndcg, span_scores
from ragkit_eval.sets import Excerpt, Question
from ragkit_eval.stats import paired_difference

DEPTH = 50  # chunks fetched, so that ten documents are among them
SHOWN = 5  # of them in which the excerpts' characters are counted
MOST = 1000  # questions of a set
WORDS, DEFAULT = "words", "e5-small"
MODELS = {"MiniLM": MINILM, DEFAULT: BILINGUAL}
LANGUAGE: dict[str, Mapping[str, Any]] = {  # of documents, as a filter
    "en": {"not": {"eq": {"language": "zh"}}},
    "zh": {"eq": {"language": "zh"}},
}
HEAD = """## Retrieval quality

nDCG@10 over documents; of chunking_evaluation over chunks, relevant when they hold half of a gold
excerpt, and the recall of the excerpts, by characters, in the first 5. Documents are chunked and
searched by ragkit's defaults, with the English model all-MiniLM-L6-v2 and with the default,
multilingual-e5-small. Of large sets every second to fourth question is asked. What says the same,
word for word, is shown once: the documents and places that a hit names besides its own count right
after it, and chunks of the same text are one. *Words*: BM25 alone, in the chunks of the default.
AGIEval: the texts of its reading tasks, searched by question and right option, which nobody
labelled for retrieval. *Everyday*: questions of the mixed collection, in the language of the
document that answers and in the other one; *alone*: only the documents in its language are
searched. The last column is the default by both legs less its better leg, with 95% intervals,
paired by question, resampled by passage. Wanted: never below -.005.
"""

Score = Callable[[Question, Sequence[Hit]], float]
Scores = dict[str, dict[str, list[float]]]  # by measure and way


def run() -> str:
    ways = [way for way in _ways() if way != WORDS]
    lines = [
        HEAD,
        f"| set | questions | {WORDS} | {' | '.join(ways)} | both less the better leg |",
        "|---|---|---|" + "---|" * (len(ways) + 1),
    ]
    for line in chain(_published(), _everyday()):
        lines.append(line)
        print(line, flush=True)
    return "\n".join(lines) + "\n"


def _ways() -> dict[str, tuple[str, Mode]]:
    """Name the ways to search: a model and a mode."""
    ways: dict[str, tuple[str, Mode]] = {WORDS: (BILINGUAL, "lexical")}
    for name, model in MODELS.items():
        ways |= {f"{name}, dense": (model, "dense"), f"{name}, both": (model, "hybrid")}
    return ways


def _published() -> Iterator[str]:
    for labelled, distractors in (
        (cranfield(), []),
        (cmrc(), []),
        (clapnq_answerable(), []),
        (clapnq_answerable(), [clapnq_unanswerable()]),
        (chunking(), []),
        (reading("English"), []),
        (reading("Chinese"), []),
    ):
        asked = labelled.questions[:: -(-len(labelled.questions) // MOST)]
        scores: Scores = {}
        for model in MODELS.values():
            with knowledge_base(labelled, *distractors, model=model) as kb:
                _add(scores, kb, asked, model)
        name = labelled.name + (" + unanswerable passages" if distractors else "")
        yield from _rows(name, asked, scores)


def _everyday() -> Iterator[str]:
    """Yield the rows of each pair of languages, among all documents and among those of one."""
    tables: dict[tuple[bool, str], Scores] = {
        (a, file): {} for a in (False, True) for file in NAMES
    }
    for model in MODELS.values():
        with mixed_collection(model=model) as kb:
            for (alone, file), scores in tables.items():
                where = LANGUAGE[file.rpartition("-")[2]] if alone else None
                _add(scores, kb.adapted(where=where), _answerable(file), model)
    for (alone, file), scores in tables.items():
        yield from _rows(f"everyday, {NAMES[file]}{', alone' * alone}", _answerable(file), scores)


def _answerable(file: str) -> list[Question]:
    """Return the answerable questions of a file, each relevant to the document that answers."""
    return [
        Question(one.id, one.question, relevant={Path(one.document).stem: 1}, group=one.document)
        for one in questions(file)
        if one.answerable
    ]


def _add(scores: Scores, kb: KnowledgeBase, asked: Sequence[Question], model: str) -> None:
    """Score each question's hits by each measure, in the ways that use a model."""
    scorers = _scorers(kb, asked)
    for way, (of, mode) in _ways().items():
        if of != model:
            continue
        pipeline = kb.retriever(mode)
        found: dict[str, list[float]] = {measure: [] for measure in scorers}
        for question in asked:
            hits = pipeline.search(question.text, k=10 if question.excerpts else DEPTH)
            for measure, score in scorers.items():
                found[measure].append(score(question, hits))
        for measure, values in found.items():
            scores.setdefault(measure, {})[way] = values


def _rows(name: str, asked: Sequence[Question], scores: Scores) -> Iterator[str]:
    clusters = [question.cluster for question in asked]
    if len(set(clusters)) < 30:  # five corpora: what a question is about says nothing
        clusters = [question.id for question in asked]
    for measure, by_way in scores.items():
        means = [f"{fmean(by_way[way]):.3f}" for way in _ways()]
        best = max((WORDS, f"{DEFAULT}, dense"), key=lambda way: fmean(by_way[way]))
        less = paired_difference(by_way[best], by_way[f"{DEFAULT}, both"], clusters, samples=2000)
        difference = f"{less.mean:+.3f} ({less.low:+.3f} to {less.high:+.3f})"
        yield f"| {' | '.join([name + measure, str(len(asked)), *means, difference])} |"


def _scorers(kb: KnowledgeBase, asked: Sequence[Question]) -> dict[str, Score]:
    """Say how a set's hits are scored, by what the row's name adds for it."""
    if not any(question.excerpts for question in asked):
        return {"": lambda question, hits: ndcg(question.relevant, by_document(hits), k=10)}
    chunks = every_chunk(kb)

    def by_chunk(question: Question, hits: Sequence[Hit]) -> float:
        run = _run(fold_text(hit.text) for hit in hits)
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
        fold_text(chunk.text): 1
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
