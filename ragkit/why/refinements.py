"""A document among a search's hits: fusion, duplicates, reranking, the k best.

It reads the trace of the search, and searches deeper where the trace ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ragkit.retrieve.legs import MAX_K
from ragkit.retrieve.steps.duplicates import fold_text
from ragkit.why.steps import Step

if TYPE_CHECKING:
    from ragkit.types import Stage
    from ragkit.why.explained_search import ExplainedSearch

_REMEDIES: Final = {
    "rerank": "Have more of them reranked (RAGKIT_RERANK_CANDIDATES), or by another model.",
    "cut-off": "Lower the reranker's cut-off, or fit it again with `ragkit eval calibrate`.",
    "per document": "Allow more passages of one document: RAGKIT_MAX_PER_DOCUMENT.",
    "diversify": "Lower RAGKIT_DIVERSITY: the passage is too much like better ones.",
}


def refinement_steps(explained: ExplainedSearch) -> Iterator[Step]:
    """Yield the stages between both legs and the passages that the search returns."""
    yield _fused(explained)
    rank = explained.rank(explained.fetched.ranked)
    depth = max(explained.k, explained.pipeline.depth)
    for number, stage in enumerate(explained.refined, start=1):
        previous, rank = rank, explained.rank(stage.ranked)
        yield _passed(stage, previous, rank) if rank else _dropped(explained, stage, previous)
        if stage.name == "duplicates" and number < len(explained.refined) and rank and rank > depth:
            says = f"rank {rank}; the best {depth} are refined"
            remedy = "Refine more of them: RAGKIT_RERANK_CANDIDATES."
            yield Step("depth", False, says, {"rank": rank, "refined": depth}, remedy)
    yield _best(explained, rank)


def _fused(explained: ExplainedSearch) -> Step:
    ranked = explained.fetched.ranked
    rank = explained.rank(ranked)
    numbers: dict[str, float | str] = {"passed on": len(ranked)}
    for stage in explained.of_leg("fuse")[:1]:
        numbers |= stage.notes
    if rank is not None:
        numbers |= {"rank": rank, "score": ranked[rank - 1][1]}
        says = f"rank {rank:,} of {len(ranked):,} passed on, score {ranked[rank - 1][1]:.3f}"
        return Step("fusion", True, says, numbers)
    deeper = explained.legs.find(explained.query, k=MAX_K).hits
    rank = explained.rank([(hit.chunk, hit.score) for hit in deeper])
    says = f"beyond the best {len(deeper):,}"
    if rank is not None:
        hit = deeper[rank - 1]
        numbers |= {"rank": rank, "score": hit.score, **hit.scores}
        says = f"rank {rank:,}, score {hit.score:.3f}"
    says += f"; the best {len(ranked):,} are passed on"
    if ranked:
        says += f", the last of them with score {ranked[-1][1]:.3f}"
    remedy = "Ask for more passages (-k), or put the question in the document's own words."
    return Step("fusion", False, says, numbers, remedy)


def _passed(stage: Stage, previous: int | None, rank: int) -> Step:
    score = stage.ranked[rank - 1][1]
    says = f"rank {rank} of {len(stage.ranked)}, score {score:.3f}"
    numbers: dict[str, float | str] = {"left": len(stage.ranked), "rank": rank, "score": score}
    if previous is not None:
        numbers["rank before"] = previous
        says += f"; it came with rank {previous}" if previous != rank else ""
    return Step(stage.name, True, says, {**stage.notes, **numbers})


def _dropped(explained: ExplainedSearch, stage: Stage, previous: int | None) -> Step:
    numbers: dict[str, float | str] = {**stage.notes, "left": len(stage.ranked)}
    if previous is not None:
        numbers["rank before"] = previous
    if stage.name == "duplicates":
        return _copied(explained, stage, numbers)
    says = f"dropped from rank {previous}; {len(stage.ranked)} are left"
    if stage.ranked:
        says += f", the last of them with score {stage.ranked[-1][1]:.3f}"
    remedy = _REMEDIES.get(stage.name, f"Leave the step {stage.name!r} out, or change it.")
    return Step(stage.name, False, says, numbers, remedy)


def _copied(explained: ExplainedSearch, stage: Stage, numbers: dict[str, float | str]) -> Step:
    """Name the passage that is shown in its place."""
    with explained.store.snapshot() as reader:
        texts = {fold_text(hit.text) for hit in reader.hits(explained.chunks)}
        hits = reader.hits([chunk for chunk, _ in stage.ranked])
    duplicate = next((hit for hit in hits if fold_text(hit.text) in texts), None)
    where = "another document"
    if duplicate is not None:
        numbers |= {"document": duplicate.document, "uri": duplicate.uri}
        where = f"document {duplicate.document}, {duplicate.uri}, which ranks above it"
    remedy = "It is named among that passage's duplicates."
    return Step("duplicates", False, f"it says the same as {where}", numbers, remedy)


def _best(explained: ExplainedSearch, rank: int | None) -> Step:
    """Tell whether it is among the k best."""
    numbers: dict[str, float | str] = {"rank": rank or 0, "k": explained.k}
    if not explained.hits:
        says = f"rank {rank}; the best {explained.k} are returned"
        return Step("top k", False, says, numbers, f"Ask for more passages: -k {rank}.")
    hit = explained.hits[0]
    says = f"rank {rank} of the {explained.k} asked for: characters {hit.start}-{hit.end}"
    return Step("top k", True, says, {**numbers, "start": hit.start, "end": hit.end})
