"""The sentences of passages that could be quoted.

Overlapping passages of a document are joined first. Offsets count in the documents' stored text.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragkit.answer.write.layout import (
    MAX_LIST_CHARS,
    MAX_LIST_ITEMS,
    Unit,
    item_text_start,
    split_units,
)
from ragkit.question.reading import distinct_terms
from ragkit.text.analyse import CJK
from ragkit.text.plain import cells, list_text, plain, row_text, rows_text
from ragkit.types import Hit, Span

MAX_QUOTE_COLUMNS = 400  # 200 Chinese characters; over 99% of CMRC 2018's sentences are shorter
CONTEXT = 4  # preceding sentences; with a decay of 0.4 the fifth would count for 1%

_ANSWER_MARK = re.compile(r"(?:A|Answer|答)[ \t]{0,3}[:：][ \t]*")
_WIDE = re.compile(f"[{CJK}\u3000-\u303f\uff01-\uff60]")  # take two columns
_SPACE = re.compile(r"\s*")
_CUTS = re.compile(r"[；;：，、]|[,:](?=\s)"), re.compile(r"\s")  # clauses, then words
_CONTINUES = re.compile(r"[a-z，、；：。！？」』”》）,;:.)]")
_ENDS = re.compile(r"""[.。!！?？…;；:："'”’」』）)\]】》|]$""")


@dataclass(frozen=True, slots=True)
class Listed:
    """A list with its introduction, or a short answer to a question that the document asks.

    It stands at `start:end`; `display` is its text without marks.
    """

    start: int
    end: int
    text: str
    display: str
    terms: frozenset[str]
    intro: bool  # whether the candidate is its introduction


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, a list's item or a table's row, with the best-ranked passage that holds it.

    `text` stands at `start:end` of the document; `display` is the text without marks, a row with
    the names of its columns. `context` holds the terms of the preceding sentences, nearest first,
    `path` those of its title and headings, `head` those of a row's columns' names, `question_terms`
    those of a question that the document answers with it, `distance` the number of sentences
    between the two. `complete` is False where a passage's edge seems to cut the sentence.
    `section` are the headings over it within the passage, `listed` its list or table, if it is an
    item, a row or an introduction.
    """

    hit: Hit
    rank: int
    start: int
    end: int
    text: str
    display: str
    terms: frozenset[str]
    context: tuple[frozenset[str], ...]
    path: frozenset[str]
    head: frozenset[str] = frozenset()
    question_terms: frozenset[str] = frozenset()
    distance: int = 0
    complete: bool = True
    is_title: bool = False
    section: tuple[str, ...] = ()
    listed: Listed | None = None

    @property
    def reach(self) -> frozenset[str]:
        """The terms of the text and of what stands above it."""
        return self.terms.union(self.path, self.head, self.question_terms)


@dataclass(frozen=True, slots=True)
class _Region:
    start: int
    text: str
    hits: tuple[tuple[int, Hit], ...]  # (rank, hit)


def list_candidates(passages: Sequence[Hit]) -> list[Candidate]:
    """List what could be quoted of the passages, each once, without headings and questions."""
    return [item for region in _regions(passages) for item in _candidates_of(region)]


def _regions(passages: Sequence[Hit]) -> list[_Region]:
    """Join passages that overlap or touch, so that a sentence cut in one is complete in the
    other.
    """
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


def _candidates_of(region: _Region) -> Iterator[Candidate]:
    preceding: list[frozenset[str]] = []
    section: tuple[str, ...] | None = None
    for unit in split_units(region.text):
        if unit.headings != section:
            preceding, section = [], unit.headings
        words = distinct_terms(region.text[unit.start : unit.end])
        if not words:
            continue
        head = _head(region, unit)
        above = distinct_terms(" ".join(head)) if head else frozenset()
        context = ((above,) if above else ()) + tuple(preceding[: -CONTEXT - 1 : -1])
        for piece in _pieces(region.text, unit):
            yield _candidate(region, unit, piece, context, head)
        preceding.append(words)


def _head(region: _Region, unit: Unit) -> Sequence[str]:
    """Return the names of a row's columns, from above the row or from the lead of its passage."""
    if unit.kind != "row":
        return ()
    if unit.head is not None:
        return cells(region.text[unit.head.start : unit.head.end])
    at = region.start + unit.start
    leads = (hit.lead for _, hit in region.hits if hit.start <= at < hit.end and hit.lead)
    lead = next(leads, "")
    return cells(lead.splitlines()[0]) if lead.startswith("|") else ()


def _candidate(
    region: _Region,
    unit: Unit,
    piece: Span,
    context: tuple[frozenset[str], ...],
    head: Sequence[str],
) -> Candidate:
    start, end = region.start + piece.start, region.start + piece.end
    touching = [item for item in region.hits if item[1].start < end and item[1].end > start]
    rank, hit = min(touching, key=lambda item: item[0])
    text = region.text[piece.start : piece.end]
    return Candidate(
        hit=hit,
        rank=rank,
        start=start,
        end=end,
        text=text,
        display=row_text(text, head) if unit.kind == "row" else " ".join(plain(text).split()),
        terms=distinct_terms(text),
        context=context,
        head=distinct_terms(" ".join(head)),
        path=distinct_terms(" ".join((hit.title, *hit.headings, *unit.headings))),
        question_terms=distinct_terms(unit.question),
        distance=unit.distance,
        complete=_is_complete(region, piece),
        is_title=unit.kind == "title",
        section=unit.headings,
        listed=_listed(region, unit, head),
    )


def _listed(region: _Region, unit: Unit, head: Sequence[str]) -> Listed | None:
    """Return a unit's list, table or the answer that it belongs to, if it can be quoted in full."""
    if unit.answer is not None and unit.answer != Span(unit.start, unit.end) and not unit.block:
        span = unit.answer
    elif unit.block is None or len(unit.block.items) > MAX_LIST_ITEMS:
        return None
    else:
        span = unit.block.span
    text = region.text[span.start : span.end]
    if len(text) > MAX_LIST_CHARS:
        return None
    intro = unit.block.intro if unit.block else None
    is_intro = intro is not None and unit.start == intro.start
    start, end = region.start + span.start, region.start + span.end
    display = list_text(text)
    if unit.kind == "row":
        display = rows_text(text, head)
    return Listed(start, end, text, display, distinct_terms(text), is_intro)


def _pieces(text: str, unit: Unit) -> Iterator[Span]:
    """Drop the mark at the front of a unit, and cut a unit that is too long to read."""
    start = item_text_start(text, unit.start, unit.end)
    if answer := _ANSWER_MARK.match(text, start, unit.end):
        start = answer.end()
    length = unit.end - start
    columns = length + len(_WIDE.findall(text, start, unit.end))
    limit = MAX_QUOTE_COLUMNS * length // max(columns, 1)
    while unit.end - start > limit:
        cut = _cut(text, start + limit // 2, start + limit)
        yield Span(start, start + len(text[start:cut].rstrip()))
        space = _SPACE.match(text, cut, unit.end)
        start = space.end() if space else cut
    if start < unit.end:
        yield Span(start, unit.end)


def _cut(text: str, low: int, high: int) -> int:
    """Find the last end of a clause, else of a word, between two offsets."""
    for mark in _CUTS:
        ends = [match.end() for match in mark.finditer(text, low, high)]
        if ends:
            return ends[-1]
    return high


def _is_complete(region: _Region, piece: Span) -> bool:
    """Guess from its first and last characters whether a sentence at an edge is complete."""
    text = region.text[piece.start : piece.end]
    begins = region.start + piece.start == 0 or piece.start > 0 or not _CONTINUES.match(text)
    ends = piece.end < len(region.text.rstrip()) or _ENDS.search(text) is not None
    return begins and ends
