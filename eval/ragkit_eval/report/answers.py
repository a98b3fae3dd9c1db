"""One run's answer as a report shows it: marked text, citations, and passages with what is cited.

It reads the JSON that ragkit.render.answer_json writes with "used" or "hits" beside, as far as it
is there, and trusts none of it: a detail of another shape shows as nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from re import finditer
from typing import Any

from ragkit_eval.report.inert import Mark, Segment, inert, language, line, segments
from ragkit_eval.report.texts import PASSAGES, labels

Place = tuple[str, int, int]  # a document and a span of its characters
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
    """A passage that one or more runs had before them.

    Marked in it are what an answer quotes, "quote", and what the labels say answers, "gold".
    """

    source: str
    text: tuple[Segment, ...]
    language: str
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer's text with marks, and what stands below it."""

    text: tuple[Segment, ...]
    language: str
    refused: bool
    reason: str
    citations: tuple[Citation, ...]
    unsupported: int


def answer_view(output: str, detail: Mapping[str, Any]) -> AnswerView:
    """Mark in an answer the citations, the claims without support and the unverified pieces."""
    said = detail.get("answer")
    text = said if isinstance(said, str) and said else output
    marks = _marks(text, detail)
    return AnswerView(
        segments(text, marks),
        language(text),
        detail.get("refused") is True,
        line(str(detail.get("reason") or "")),
        tuple(
            Citation(
                line(str(one.get("n", "?")), 8),
                _source(one),
                line(str(one.get("quote") or ""), 400),
                line(str(one.get("verdict") or ""), 40),
            )
            for one in _mappings(detail.get("citations"))
        ),
        sum(mark.kind == "unsupported" for mark in marks),
    )


def passages(details: Sequence[Mapping[str, Any]]) -> tuple[Passage, ...]:
    """Bring together the passages of all runs, each once, in the order of the first that has it."""
    runs: dict[Place, list[int]] = {}
    found: dict[Place, Mapping[str, Any]] = {}
    marked: list[tuple[str, Mark]] = []
    for n, detail in enumerate(details):
        for one in _shown(detail)[:PASSAGES]:
            place = _place(one)
            found.setdefault(place, one)
            if n not in runs.setdefault(place, []):
                runs[place].append(n)
        marked += [(_place(c)[0], _span(c, "quote")) for c in _mappings(detail.get("citations"))]
        marked += [(_place(s)[0], _span(s, "gold")) for s in _mappings(labels(detail).get("spans"))]
    return tuple(
        Passage(_source(one), _marked(one, marked), language(_text(one)), tuple(runs[place]))
        for place, one in found.items()
    )


def _shown(detail: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what the generator was shown, or what was found, whichever has texts."""
    for name in ("used", "hits"):
        listed = [one for one in _mappings(detail.get(name)) if _text(one)]
        if listed:
            return listed
    return []


def _marked(passage: Mapping[str, Any], marked: Sequence[tuple[str, Mark]]) -> tuple[Segment, ...]:
    document, start, _ = _place(passage)
    # Offsets are a document's; the passage begins at one of them.
    marks = (
        Mark(mark.start - start, mark.end - start, mark.kind)
        for name, mark in marked
        if name == document
    )
    return segments(_text(passage), marks)


def _marks(text: str, detail: Mapping[str, Any]) -> list[Mark]:
    marks = [
        Mark(_number(one.get("start")), _number(one.get("end")), _SUPPORT[str(one.get("support"))])
        for one in _mappings(detail.get("claims"))
        if one.get("support") in _SUPPORT
    ]
    for piece in detail.get("unverified") or ():
        at = text.find(piece) if isinstance(piece, str) and piece else -1
        if at >= 0:
            marks.append(Mark(at, at + len(piece), "unverified"))
    if detail.get("citations"):
        marks += [Mark(*found.span(), "cite") for found in finditer(r"\[\d+(?:, ?\d+)*\]", text)]
    return marks


def _source(one: Mapping[str, Any]) -> str:
    name = str(one.get("title") or "") or str(one.get("uri") or one.get("document") or "?")
    page = one.get("page")
    place = f", page {page}" if page is not None else ""
    span = f", characters {_number(one.get('start'))} to {_number(one.get('end'))}"
    return line(name, 120) + inert(place) + span


def _place(one: Mapping[str, Any]) -> Place:
    # A label's span names its document by the URI; numbers are the store's own.
    document = str(one.get("uri") or one.get("document") or "")
    return document, _number(one.get("start")), _number(one.get("end"))


def _span(one: Mapping[str, Any], kind: str) -> Mark:
    _, start, end = _place(one)
    return Mark(start, end, kind)


def _text(one: Mapping[str, Any]) -> str:
    text = one.get("text")
    return text if isinstance(text, str) else ""


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
