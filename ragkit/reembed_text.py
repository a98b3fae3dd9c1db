"""How two embedding spaces compare, for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ragkit import render

if TYPE_CHECKING:
    from ragkit.compare_spaces import Comparison, Side
    from ragkit.types import EmbeddingSpace


def print_comparison(compared: Comparison | None) -> None:
    if compared is None:
        return
    what = (
        "your questions" if compared.kind == "labelled" else "halves of the collection's sentences"
    )
    typer.echo(f"\nBoth models on {compared.questions} of {what}, by vectors alone:")
    rows = [_side_row(side) for side in (compared.old, compared.new)]
    columns = ["model", "found in 10", "MRR@10", "p50", "size"]
    render.print_table(columns, rows, empty="")
    typer.echo(
        f"\nMRR@10 changes by {compared.difference:+.3f} (95% interval {compared.low:+.3f} to"
        f" {compared.high:+.3f}); of the first 10, {compared.overlap:.0%} are the same.\n"
    )


def _side_row(side: Side) -> list[str]:
    name = f"{side.space.model}, {side.space.dimension}"
    quality = [f"{side.found:.1%}", f"{side.reciprocal_rank:.3f}"]
    return [name, *quality, f"{side.p50_s * 1000:.1f} ms", megabytes(side.bytes)]


def comparison_json(compared: Comparison | None) -> dict[str, Any] | None:
    if compared is None:
        return None
    return {
        "kind": compared.kind,
        "questions": compared.questions,
        "old": _side_json(compared.old),
        "new": _side_json(compared.new),
        "difference": round(compared.difference, 4),
        "interval": [round(compared.low, 4), round(compared.high, 4)],
        "overlap": round(compared.overlap, 4),
    }


def _side_json(side: Side) -> dict[str, Any]:
    return {
        **space_json(side.space),
        "found": round(side.found, 4),
        "mrr": round(side.reciprocal_rank, 4),
        "p50_ms": round(side.p50_s * 1000, 3),
        "vectors": side.vectors,
        "bytes": side.bytes,
    }


def space_json(space: EmbeddingSpace) -> dict[str, Any]:
    return {"model": space.model, "revision": space.revision, "dimension": space.dimension}


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
