"""The sentences that could be quoted: passages of one document joined, split, and freed of marks.

It knows nothing of the question. Offsets count in the documents' stored text.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragkit.answer.question import has_cjk, terms
from ragkit.text.sentences import sentences
from ragkit.types import Hit, Span

MAX_QUOTE_COLUMNS = 400  # 200 Chinese characters; 99.8% of CMRC 2018's sentences are shorter
CONTEXT = 4  # sentences back; with a decay of 0.4 the fifth would count for 1%

_MARKER = re.compile(r"(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?")
_HEADING = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?$|=\s.*\s=$")
_CLAUSE_END = re.compile(r"[；;：，、]|[,:](?=\s)|\s")
_RULE = re.compile(r"\|?[\s|:-]+$")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence with the best-ranked passage that holds it.

    `context` holds the terms of what precedes it, nearest first: a table row's head row, then the
    sentences before it. `path` holds the terms of its title and headings.
    """

    hit: Hit
    rank: int
    start: int
    end: int
    text: str
    terms: frozenset[str]
    context: tuple[frozenset[str], ...]
    path: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Region:
    start: int
    text: str
    hits: tuple[tuple[int, Hit], ...]  # (rank, hit)


def candidates(passages: Sequence[Hit]) -> list[Candidate]:
    """List the sentences of the passages, each once; headings, head rows and rules are left out."""
    return [found for region in _regions(passages) for found in _of_region(region)]


def _regions(passages: Sequence[Hit]) -> list[_Region]:
    """Join passages that overlap or touch, so that a sentence cut in one is whole in the other."""
    by_document: dict[int, list[tuple[int, Hit]]] = defaultdict(list)
    for rank, hit in enumerate(passages):
        by_document[hit.document].append((rank, hit))
    regions: list[_Region] = []
    for ranked in by_document.values():
        ranked.sort(key=lambda item: (item[1].start, item[1].end))
        joined: _Region | None = None
        for rank, hit in ranked:
            end = joined.start + len(joined.text) if joined else -1
            if joined is None or hit.start > end:
                if joined:
                    regions.append(joined)
                joined = _Region(hit.start, hit.text, ((rank, hit),))
            else:
                text = joined.text + hit.text[max(0, end - hit.start) :]
                joined = _Region(joined.start, text, (*joined.hits, (rank, hit)))
        if joined:
            regions.append(joined)
    return regions


def _of_region(region: _Region) -> Iterator[Candidate]:
    spans = sentences(region.text)
    before: list[frozenset[str]] = []
    head: frozenset[str] | None = None
    for number, span in enumerate(spans):
        text = region.text[span.start : span.end]
        words = terms(text)
        if not words:
            continue
        row = text.startswith("|")
        opens = row and _is_rule(region.text, spans, number + 1)
        head = (words if opens else head) if row else None
        if not opens and not _HEADING.match(text):
            context = ((head,) if head else ()) + tuple(before[: -CONTEXT - 1 : -1])
            for piece in _pieces(region.text, span):
                yield _candidate(region, piece, context)
        before.append(words)


def _is_rule(text: str, spans: Sequence[Span], number: int) -> bool:
    return number < len(spans) and bool(_RULE.match(text[spans[number].start : spans[number].end]))


def _candidate(region: _Region, piece: Span, context: tuple[frozenset[str], ...]) -> Candidate:
    start, end = region.start + piece.start, region.start + piece.end
    touching = [item for item in region.hits if item[1].start < end and item[1].end > start]
    rank, hit = min(touching, key=lambda item: item[0])
    text = region.text[piece.start : piece.end]
    path = terms(" ".join((hit.title, *hit.headings)))
    return Candidate(hit, rank, start, end, text, terms(text), context, path)


def _pieces(text: str, span: Span) -> Iterator[Span]:
    """Drop a list or quotation mark at the front and cut what is too long to be read as one."""
    marker = _MARKER.match(text, span.start, span.end)
    start = marker.end() if marker else span.start
    limit = MAX_QUOTE_COLUMNS // (2 if has_cjk(text[start : span.end]) else 1)
    while span.end - start > limit:
        marks = [m.end() for m in _CLAUSE_END.finditer(text, start + limit // 2, start + limit)]
        cut = marks[-1] if marks else start + limit
        yield Span(start, cut - (len(text[start:cut]) - len(text[start:cut].rstrip())))
        start = cut + (len(text[cut : span.end]) - len(text[cut : span.end].lstrip()))
    if start < span.end:
        yield Span(start, span.end)
