"""A verdict of `ragkit tune prove` as Markdown; knows nothing of training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

HEADER = "| | questions, groups | before | after | difference, 95% | p |\n|---|---|---|---|---|---|"


def verdict_lines(verdict: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of a verdict's differences, its sentence and its notes."""
    yield HEADER
    yield _row("decides", verdict["main"])
    for row in verdict["reported"]:
        yield _row("reported", row)
    for row in verdict["guards"]:
        yield _row("guard", row)
    yield ""
    tried = verdict["tried"]
    over = f"; {tried} models were tried on these questions" if tried > 1 else ""
    yield f"**Verdict: {verdict['sentence']}**{over}."
    for note in verdict["notes"]:
        yield f"\n{note[0].upper()}{note[1:]}."


def _row(role: str, row: Mapping[str, Any]) -> str:
    difference = f"{row['mean']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
    asked = f"{row['items']}, {row['clusters']}"
    means = f"{row['a']:.3f} | {row['b']:.3f}"
    return (
        f"| {role}: {row['name']}, {row['measure']} | {asked} | {means} | {difference} |"
        f" {row['p']:.2g} |"
    )
