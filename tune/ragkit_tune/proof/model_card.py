"""The card of a proven model: what it is, what it was made of, and what the proof says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ragkit_tune.data.card import PRIVATE
from ragkit_tune.data.data_set import DataSet, write_whole
from ragkit_tune.model_files.card import Parent, licence, licence_notes
from ragkit_tune.proof.candidate import Candidate
from ragkit_tune.proof.verdict import Difference, Verdict, interval, signed

CARD: Final = "card.md"
_PROOF: Final = "## Proof"
_UNPROVEN: Final = "**Unproven: run `ragkit tune prove` before you use it.**"


def write_card(candidate: Candidate, verdict: Verdict, sets: Sequence[DataSet]) -> None:
    """Write a run's card, or the proof into the card that a merged or shrunk model has."""
    path = candidate.folder / CARD
    proof = "\n".join(proof_lines(verdict)) + "\n"
    if candidate.run is None:
        text = path.read_text("utf-8") if path.is_file() else f"# {candidate.name}\n"
        described = text.partition(f"\n{_PROOF}")[0].replace(f"{_UNPROVEN}\n", "")
        write_whole(path, f"{described.rstrip()}\n\n{proof}")
        return
    lines = [*run_lines(candidate, sets), "", proof]
    write_whole(path, "\n".join(lines))


def run_lines(candidate: Candidate, sets: Sequence[DataSet]) -> Iterator[str]:
    """Yield what a run's card says of base, rows and recipe."""
    values = candidate.run.values if candidate.run else {}
    base = values.get("base") or {}
    recipe = values.get("recipe") or {}
    parent = Parent(
        str(base.get("name", "")),
        str(base.get("revision", "")),
        "",
        licence(Path(str(base.get("folder", "")))),
    )
    yield f"# {candidate.name}"
    yield ""
    yield f"- Kind: {candidate.kind}."
    yield f"- Base: {_cell(parent.name)}, revision {_cell(parent.revision)}."
    yield f"- Licence of the base, which holds here, too: {parent.licence or 'not stated'}."
    yield from (f"- **{_cell(note)}.**" for note in licence_notes([parent]))
    for data in sets:
        yield from data_lines(data.card, recipe)
    yield ""
    yield "## Recipe"
    yield ""
    yield "| setting | value |"
    yield "|---|---|"
    yield from (f"| {name} | {_cell(str(value))} |" for name, value in recipe.items())
    versions = values.get("versions") or {}
    if versions:
        yield ""
        yield (
            "Versions: " + ", ".join(f"{name} {number}" for name, number in versions.items()) + "."
        )


def data_lines(card: Mapping[str, Any], recipe: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a data card says: counts, kinds, who wrote the questions, what can leak."""
    counts = card["counts"]
    yield (
        f"- Rows: {counts['train']} to train on, {counts['dev']} to choose by, {counts['test']} to"
        f" prove by, from collection {_cell(str(card.get('collection', '')))}; hash"
        f" `{card['hash']}`."
    )
    hows = card.get("how") or {}
    if hows:
        yield "- Questions: " + ", ".join(f"{how} {count}" for how, count in hows.items()) + "."
    left_out = card.get("left_out") or {}
    if left_out:
        yield "- Left out: " + ", ".join(f"{n} ({_cell(why)})" for why, n in left_out.items()) + "."
    if card.get("prompts"):
        yield (
            f"- Prompts: version {_cell(', '.join(map(str, card['prompts'])))}; it answers best to"
            " the same."
        )
    writer = str(card.get("written_by") or "")
    yield f"- The questions were written by {_cell(writer) or 'people and rules'}."
    if writer and writer in {str(card.get("judged_by") or ""), str(recipe.get("teacher") or "")}:
        yield f"- **{_cell(writer)} wrote the questions and judged, too: it favours its words.**"
    yield f"- {card.get('private') or PRIVATE}"


def proof_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the verdict and its figures as Markdown."""
    facts = verdict.facts or {}
    yield _PROOF
    yield ""
    yield f"**{verdict.sentence}.**"
    yield ""
    yield (
        f"Compared with {_cell(str(facts.get('baseline', '')))} in collection"
        f" {_cell(str(facts.get('collection', '')))} at {facts.get('proven_at', '')}, decided by"
        f" {verdict.main.measure}."
    )
    yield ""
    yield "| set | measure | questions | clusters | before | after | change (95%) | p |"
    yield "|---|---|---:|---:|---:|---:|---|---:|"
    for kind, rows in (("", (verdict.main, *verdict.reported)), ("guard: ", verdict.guards)):
        yield from (_row(kind, row) for row in rows)
    if verdict.notes:
        yield ""
        yield from (f"- {_cell(note)}." for note in verdict.notes)


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the figures as lines for a terminal, the one that decides first."""
    facts = verdict.facts or {}
    yield f"Baseline: {facts.get('baseline', '')}, collection {facts.get('collection', '')}"
    rows = [("decides", verdict.main), *(("reported", row) for row in verdict.reported)]
    rows += [("guard", row) for row in verdict.guards]
    width = max(len(f"{row.name} {row.measure}") for _, row in rows)
    for role, row in rows:
        yield (
            f"  {role:8}  {f'{row.name} {row.measure}':{width}}  {row.a:.3f} -> {row.b:.3f} "
            f" {signed(row.mean)} {interval(row)}, {row.items} questions in {row.clusters} clusters"
        )
    yield from (f"Note: {note}." for note in verdict.notes)


def _row(kind: str, row: Difference) -> str:
    cells = [
        f"{kind}{_cell(row.name)}", row.measure, str(row.items), str(row.clusters),
        f"{row.a:.3f}", f"{row.b:.3f}", f"{signed(row.mean)} {interval(row)}", f"{row.p:.4f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
