"""Prepare an answer for a report: marked text, citations, and passages with marked quotations.

Reads the JSON of ragkit.cli.render.answer_json with "used" or "hits", as far as it is present, and
validates every value: a detail of another shape is shown as empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from re import finditer
from typing import Any

from ragkit.report.safe_text import inert, line
from ragkit_eval.report.extract import PASSAGES, labels
from ragkit_eval.report.safe_text import Mark, Segment, language, segments

Place = tuple[str, int, int]  # document, start, end
_SUPPORT = {"partly": "partly", "not found": "unsupported"}


@dataclass(frozen=True, slots=True)
class Citation:
    """A numbered source of an answer."""

    n: str
    source: str
    quote: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that one or more runs had.

    `text` marks what an answer quotes, "quote", and the labelled spans, "gold".
    """

    source: str
    text: tuple[Segment, ...]
    language: str
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer's marked text, its citations, and its unsupported claims."""

    text: tuple[Segment, ...]
    language: str
    refused: bool
    reason: str
    citations: tuple[Citation, ...]
    unsupported: int


def answer_view(output: str, detail: Mapping[str, Any]) -> AnswerView:
    """Mark an answer's citations, unsupported claims and unverified numbers and names."""
    answer = detail.get("answer")
    text = answer if isinstance(answer, str) and answer else output
    marks = _mark_answer(text, detail)
    return AnswerView(
        segments(text, marks),
        language(text),
        detail.get("refused") is True,
        line(str(detail.get("reason") or "")),
        tuple(
            Citation(
                line(str(citation.get("n", "?")), 8),
                _describe_source(citation),
                line(str(citation.get("quote") or ""), 400),
                line(str(citation.get("verdict") or ""), 40),
            )
            for citation in _keep_mappings(detail.get("citations"))
        ),
        sum(mark.kind == "unsupported" for mark in marks),
    )


def passages(details: Sequence[Mapping[str, Any]]) -> tuple[Passage, ...]:
    """Collect the passages of all runs, each once, in the order of their first occurrence."""
    runs: dict[Place, list[int]] = {}
    first: dict[Place, Mapping[str, Any]] = {}
    marks: list[tuple[str, Mark]] = []
    for n, detail in enumerate(details):
        for passage in _listed_passages(detail)[:PASSAGES]:
            place = _read_place(passage)
            first.setdefault(place, passage)
            if n not in runs.setdefault(place, []):
                runs[place].append(n)
        marks += [
            (_read_place(c)[0], _make_mark(c, "quote"))
            for c in _keep_mappings(detail.get("citations"))
        ]
        marks += [
            (_read_place(s)[0], _make_mark(s, "gold"))
            for s in _keep_mappings(labels(detail).get("spans"))
        ]
    return tuple(
        Passage(
            _describe_source(passage),
            _mark_passage(passage, marks),
            language(_read_text(passage)),
            tuple(runs[place]),
        )
        for place, passage in first.items()
    )


def _listed_passages(detail: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the passages of the prompt, else those of the search, whichever have texts."""
    for name in ("used", "hits"):
        listed = [passage for passage in _keep_mappings(detail.get(name)) if _read_text(passage)]
        if listed:
            return listed
    return []


def _mark_passage(
    passage: Mapping[str, Any], all_marks: Sequence[tuple[str, Mark]]
) -> tuple[Segment, ...]:
    document, start, _ = _read_place(passage)
    # Offsets count from the start of the document, not of the passage.
    marks = (
        Mark(mark.start - start, mark.end - start, mark.kind)
        for name, mark in all_marks
        if name == document
    )
    return segments(_read_text(passage), marks)


def _mark_answer(text: str, detail: Mapping[str, Any]) -> list[Mark]:
    marks = [
        Mark(
            _read_number(claim.get("start")),
            _read_number(claim.get("end")),
            _SUPPORT[str(claim.get("support"))],
        )
        for claim in _keep_mappings(detail.get("claims"))
        if claim.get("support") in _SUPPORT
    ]
    for piece in detail.get("unverified") or ():
        at = text.find(piece) if isinstance(piece, str) and piece else -1
        if at >= 0:
            marks.append(Mark(at, at + len(piece), "unverified"))
    if detail.get("citations"):
        marks += [
            Mark(*citation.span(), "cite") for citation in finditer(r"\[\d+(?:, ?\d+)*\]", text)
        ]
    return marks


def _describe_source(source: Mapping[str, Any]) -> str:
    name = str(source.get("title") or "") or str(source.get("uri") or source.get("document") or "?")
    page = source.get("page")
    place = f", page {page}" if page is not None else ""
    span = f", characters {_read_number(source.get('start'))} to {_read_number(source.get('end'))}"
    return line(name, 120) + inert(place) + span


def _read_place(value: Mapping[str, Any]) -> Place:
    # A label's span names its document by the URI; the store's numbers differ between databases.
    document = str(value.get("uri") or value.get("document") or "")
    return document, _read_number(value.get("start")), _read_number(value.get("end"))


def _make_mark(value: Mapping[str, Any], kind: str) -> Mark:
    _, start, end = _read_place(value)
    return Mark(start, end, kind)


def _read_text(passage: Mapping[str, Any]) -> str:
    text = passage.get("text")
    return text if isinstance(text, str) else ""


def _keep_mappings(value: Any) -> list[Mapping[str, Any]]:
    return (
        [member for member in value if isinstance(member, Mapping)]
        if isinstance(value, list)
        else []
    )


def _read_number(value: Any) -> int:
    return value if isinstance(value, int) else 0
