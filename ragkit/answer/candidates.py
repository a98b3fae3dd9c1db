"""The sentences that could be quoted: passages of one document joined, split, and freed of marks.

It knows nothing of the question. Offsets count in the documents' stored text.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragkit.answer.question import terms
from ragkit.text.analyse import CJK
from ragkit.text.sentences import sentences
from ragkit.types import Hit, Span

MAX_QUOTE_COLUMNS = 400  # 200 Chinese characters; over 99% of CMRC 2018's sentences are shorter
CONTEXT = 4  # sentences back; with a decay of 0.4 the fifth would count for 1%

_MARKER = re.compile(r"(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?")
_HEADING = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?$|=\s.*\s=$")
_WIDE = re.compile(f"[{CJK}\u3000-\u303f\uff01-\uff60]")  # these take two columns
_SPACE = re.compile(r"\s*")
_CUTS = re.compile(r"[；;：，、]|[,:](?=\s)"), re.compile(r"\s")  # clauses, then words
_CONTINUES = re.compile(r"[a-z，、；：。！？」』”）》,;:.)]")
_ENDS = re.compile(r"""[.。!！?？…;；:："'”’」』）)\]】》|]$""")
_RULE = re.compile(r"\|?[\s|:-]+$")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence with the best-ranked passage that holds it.

    `context` holds the terms of what precedes it, nearest first: a table row's head row, then the
    sentences before it. `path` holds the terms of its title and headings. `whole` is False where
    a passage's edge seems to cut the sentence.
    """

    hit: Hit
    rank: int
    start: int
    end: int
    text: str
    terms: frozenset[str]
    context: tuple[frozenset[str], ...]
    path: frozenset[str]
    whole: bool = True


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
    whole = _is_whole(region, piece)
    return Candidate(hit, rank, start, end, text, terms(text), context, path, whole)


def _pieces(text: str, span: Span) -> Iterator[Span]:
    """Drop a list or quotation mark at the front and cut what is too long to be read as one."""
    marker = _MARKER.match(text, span.start, span.end)
    start = marker.end() if marker else span.start
    length = span.end - start
    columns = length + len(_WIDE.findall(text, start, span.end))
    limit = MAX_QUOTE_COLUMNS * length // max(columns, 1)
    while span.end - start > limit:
        cut = _cut(text, start + limit // 2, start + limit)
        yield Span(start, start + len(text[start:cut].rstrip()))
        space = _SPACE.match(text, cut, span.end)
        start = space.end() if space else cut
    if start < span.end:
        yield Span(start, span.end)


def _cut(text: str, low: int, high: int) -> int:
    """Find the last end of a clause, else of a word, between two offsets."""
    for mark in _CUTS:
        ends = [match.end() for match in mark.finditer(text, low, high)]
        if ends:
            return ends[-1]
    return high


def _is_whole(region: _Region, piece: Span) -> bool:
    """Guess from its first and last characters whether a sentence at an edge is all there."""
    text = region.text[piece.start : piece.end]
    begins = region.start + piece.start == 0 or piece.start > 0 or not _CONTINUES.match(text)
    ends = piece.end < len(region.text.rstrip()) or _ENDS.search(text) is not None
    return begins and ends
