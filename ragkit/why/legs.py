"""A document in both legs of a search: its exact rank, and whether the leg found it.

Ranks are over every chunk that the filter admits, without an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ragkit.retrieve.ranks import Rank, rank_by_meaning, rank_by_words
from ragkit.retrieve.words.weights import term_weights
from ragkit.text.analyse import analyse
from ragkit.why.steps import Step

if TYPE_CHECKING:
    from ragkit.why.explained_search import ExplainedSearch

MAX_WORDS: Final = 8  # named in a sentence; arbitrary
_OWN_WORDS: Final = (
    "Ask in the document's own words, or let a language model do so (RAGKIT_QUERIES=multi or hyde);"
    " another embedding model may read it better."
)


def leg_steps(explained: ExplainedSearch) -> Iterator[Step]:
    """Yield the stages of the plan, the filter, each leg, and whether either found the document."""
    if explained.query.notes:
        yield _planned(explained)
    if explained.where is not None:
        yield _filtered(explained)
    finders: list[str] = []
    remedy = _OWN_WORDS
    if explained.of_leg("dense"):
        step = _by_meaning(explained)
        yield step
        finders += ["vectors"] if step.kept else []
        remedy = step.remedy or remedy
    if explained.of_leg("lexical"):
        step = _by_words(explained)
        yield step
        finders += ["words"] if step.kept else []
    if finders:
        yield Step("candidates", True, f"found by {' and '.join(finders)}")
    else:
        yield Step("candidates", False, "the search found it in no way", remedy=remedy)


def _planned(explained: ExplainedSearch) -> Step:
    says = "; ".join(f"{name}: {note}" for name, note in explained.query.notes.items())
    if explained.dropped:
        says += "; nothing is found under the filter, and it was dropped"
    return Step("plan", None, says, explained.query.notes)


def _filtered(explained: ExplainedSearch) -> Step:
    assert explained.where is not None
    with explained.store.snapshot() as reader:
        admitted = reader.allowed(explained.collection, explained.chunks, explained.where)
    numbers: dict[str, float | str] = {"chunks": len(admitted)}
    if admitted:
        return Step("filter", True, "the filter is true of it", numbers)
    remedy = "Ask without the filter, or correct what it compares."
    if inferred := explained.query.notes.get("filter"):
        numbers["inferred"] = inferred
        remedy = (
            "The question was taken to mean other documents alone: word it otherwise, or set"
            " RAGKIT_INFER_FILTERS=off."
        )
    return Step("filter", False, "the filter is not true of it", numbers, remedy)


def _by_meaning(explained: ExplainedSearch) -> Step:
    embedder = explained.legs.embedder
    vector = embedder.embed_query(explained.query.passage or explained.query.text)
    with explained.store.snapshot() as reader:
        exact = rank_by_meaning(
            reader, explained.collection, embedder.space, vector, explained.chunks, explained.where
        )
    if exact is None:
        remedy = "Ingest it again, so that it gets vectors of the model that is searched with."
        says = f"none of its chunks has a vector of {embedder.space.model}"
        return Step("vectors", None, says, remedy=remedy)
    looked = [stage.ranked for stage in explained.of_leg("dense")]
    depth = len(looked[0])
    numbers = _numbers(exact, "cosine") | {"looked at": depth}
    says = f"rank {exact.rank:,} of {exact.total:,}, cosine {exact.score:.3f};"
    if any(map(explained.rank, looked)):
        return Step("vectors", True, f"{says} found among the best {depth:,}", numbers)
    if exact.rank <= depth:
        says += f" its index missed it among the best {depth:,}"
        remedy = "Measure the index with `ragkit index recall`, and let that set what it needs."
        return Step("vectors", None, says, numbers | {"missed by": "index"}, remedy)
    return Step("vectors", None, f"{says} the best {depth:,} were looked at", numbers)


def _by_words(explained: ExplainedSearch) -> Step:
    query = explained.query.text
    terms = list(dict.fromkeys(analyse(query)))
    weights = term_weights(explained.store, explained.collection, terms)
    with explained.store.snapshot() as reader:
        exact = rank_by_words(
            reader, explained.collection, query, explained.chunks, explained.where
        )
        text = reader.hits([exact.chunk])[0].text if exact else ""
    in_it = set(analyse(text))
    has = _listed([term for term in terms if term in in_it], weights)
    lacks = _listed([term for term in terms if term not in in_it], weights)
    numbers: dict[str, float | str] = {"has": has, "lacks": lacks}
    if exact is None:
        return Step("words", None, f"no chunk of it has a word of the question: {lacks}", numbers)
    numbers |= _numbers(exact, "bm25")
    says = f"rank {exact.rank:,} of {exact.total:,} that have a word, BM25 {exact.score:.2f};"
    says += f" has {has or 'none'}; lacks {lacks or 'none'}"
    looked = [stage.ranked for stage in explained.of_leg("lexical")]
    numbers["looked at"] = len(looked[0])
    return Step("words", True if any(map(explained.rank, looked)) else None, says, numbers)


def _numbers(rank: Rank, score: str) -> dict[str, float | str]:
    return {"rank": rank.rank, "of": rank.total, score: rank.score, "chunk": rank.chunk}


def _listed(terms: Sequence[str], weights: Mapping[str, float]) -> str:
    """List terms with their weight in the collection, the heaviest first."""
    heavy = sorted(terms, key=lambda term: (-weights[term], term))
    listed = [f"{term} {weights[term]:.2f}" for term in heavy[:MAX_WORDS]]
    return ", ".join([*listed, "..."] if len(heavy) > MAX_WORDS else listed)
