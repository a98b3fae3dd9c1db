"""What became of a document among a search's hits: fusion, duplicates, reranking, the k best.

It reads the trace of the search, and searches deeper for what the trace does not reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ragkit.retrieve.duplicates import fold_text
from ragkit.retrieve.legs import MAX_K
from ragkit.why.steps import Step

if TYPE_CHECKING:
    from ragkit.types import Stage
    from ragkit.why.seen import Seen

_REMEDIES: Final = {
    "rerank": "Have more of them reranked (RAGKIT_RERANK_CANDIDATES), or by another model.",
    "cut-off": "Lower the reranker's cut-off, or fit it again with `ragkit eval calibrate`.",
    "per document": "Allow more passages of one document: RAGKIT_MAX_PER_DOCUMENT.",
    "diversify": "Lower RAGKIT_DIVERSITY: the passage is too much like better ones.",
}


def refined(seen: Seen) -> Iterator[Step]:
    """Yield the stages between both legs and the passages that the search returns."""
    yield _fused(seen)
    rank = seen.rank(seen.fetched.ranked)
    wanted = max(seen.k, seen.pipeline.depth)
    for number, stage in enumerate(seen.refined, start=1):
        before, rank = rank, seen.rank(stage.ranked)
        yield _kept(stage, before, rank) if rank else _dropped(seen, stage, before)
        if stage.name == "duplicates" and number < len(seen.refined) and rank and rank > wanted:
            says = f"rank {rank}; the best {wanted} are refined"
            remedy = "Refine more of them: RAGKIT_RERANK_CANDIDATES."
            yield Step("depth", False, says, {"rank": rank, "refined": wanted}, remedy)
    yield _best(seen, rank)


def _fused(seen: Seen) -> Step:
    ranked = seen.fetched.ranked
    rank = seen.rank(ranked)
    numbers: dict[str, float | str] = {"passed on": len(ranked)}
    for stage in seen.of_leg("fuse")[:1]:
        numbers |= stage.notes
    if rank is not None:
        numbers |= {"rank": rank, "score": ranked[rank - 1][1]}
        says = f"rank {rank:,} of {len(ranked):,} passed on, score {ranked[rank - 1][1]:.3f}"
        return Step("fusion", True, says, numbers)
    deeper = seen.legs.find(seen.query, k=MAX_K).hits
    rank = seen.rank([(hit.chunk, hit.score) for hit in deeper])
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


def _kept(stage: Stage, before: int | None, rank: int) -> Step:
    score = stage.ranked[rank - 1][1]
    says = f"rank {rank} of {len(stage.ranked)}, score {score:.3f}"
    left: dict[str, float | str] = {"left": len(stage.ranked), "rank": rank, "score": score}
    if before is not None:
        left["rank before"] = before
        says += f"; it came with rank {before}" if before != rank else ""
    return Step(stage.name, True, says, {**stage.notes, **left})


def _dropped(seen: Seen, stage: Stage, before: int | None) -> Step:
    numbers: dict[str, float | str] = {**stage.notes, "left": len(stage.ranked)}
    if before is not None:
        numbers["rank before"] = before
    if stage.name == "duplicates":
        return _copied(seen, stage, numbers)
    says = f"dropped from rank {before}; {len(stage.ranked)} are left"
    if stage.ranked:
        says += f", the last of them with score {stage.ranked[-1][1]:.3f}"
    remedy = _REMEDIES.get(stage.name, f"Leave the step {stage.name!r} out, or change it.")
    return Step(stage.name, False, says, numbers, remedy)


def _copied(seen: Seen, stage: Stage, numbers: dict[str, float | str]) -> Step:
    """Name the passage that is shown in its place."""
    with seen.store.snapshot() as reader:
        texts = {fold_text(hit.text) for hit in reader.hits(seen.chunks)}
        kept = reader.hits([chunk for chunk, _ in stage.ranked])
    shown = next((hit for hit in kept if fold_text(hit.text) in texts), None)
    where = "another document"
    if shown is not None:
        numbers |= {"document": shown.document, "uri": shown.uri}
        where = f"document {shown.document}, {shown.uri}, which ranks above it"
    remedy = "It is named among that passage's duplicates."
    return Step("duplicates", False, f"it says the same as {where}", numbers, remedy)


def _best(seen: Seen, rank: int | None) -> Step:
    """Tell whether it is among the k best."""
    numbers: dict[str, float | str] = {"rank": rank or 0, "k": seen.k}
    if not seen.shown:
        says = f"rank {rank}; the best {seen.k} are returned"
        return Step("top k", False, says, numbers, f"Ask for more passages: -k {rank}.")
    hit = seen.shown[0]
    says = f"rank {rank} of the {seen.k} asked for: characters {hit.start}-{hit.end}"
    return Step("top k", True, says, {**numbers, "start": hit.start, "end": hit.end})
