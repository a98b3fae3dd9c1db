"""The layout of a passage's text: headings, questions with answers below, lists and tables.

It reads Markdown as the parsers write it. All offsets count in the given text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Final, Literal
from unicodedata import east_asian_width

from ragkit.text.plain import is_rule
from ragkit.text.sentences import sentences
from ragkit.types import Span

UnitKind = Literal["sentence", "item", "row", "title"]

MAX_LIST_ITEMS: Final = 12
MAX_ITEM_CHARS: Final = 300  # of an item that is quoted whole; arbitrary
MAX_LIST_CHARS: Final = 1000  # arbitrary: about ten lines of a terminal
_MAX_QUESTION_CHARS: Final = 200

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)$|(=)\s(.*)\s=$", re.DOTALL)
_BOLD_LINE = re.compile(r"\*\*([^*]{1,200})\*\*[:：]?$|__([^_]{1,200})__[:：]?$")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)、]|[(（]\d{1,3}[)）])(?:[ \t]+|(?<=[、）]))(?=\S)")
_QUOTED_LINE = re.compile(r"(?:>[ \t]*)+")
_TITLE_LINES = re.compile(
    r"[^。!！?？…;；:：|\n]{1,100}(?:\n[^。!！?？…;；:：|\n]{1,100})?(?<![.,，、])\Z"
)
_SUBJECT = re.compile(r"(?:Subject|Re|主题|主題|标题|標題)[ \t]?[:：][ \t]*", re.IGNORECASE)
# What stands below a title: a sentence, a list, a table, a label.
_BODY = re.compile(
    r"[ \t]*\n[ \t]*\n\s*(?:(?:[^\n]{0,200}\n){0,2}[^\n]{0,200}[.。!！?？:：]|[-*+•|#]|\d{1,3}[.)])"
)
_NUMBERED_TITLE = re.compile(
    r"\d{1,2}[.、)][ \t]*[^\W\d_][^\n.。!！?？…;；:：,，|]{0,38}\n"
    r"(?=[^\sa-z*+•|#>-])(?!\d{1,3}[.)、])"
)
_INDENTED = re.compile(r"[ \t]{2,}\S")
_FENCE = re.compile(r"(?:`{3,}+|~{3,}+)[^\s`~]*\s*$")
# A line this short that ends without punctuation is whole, as are labels and lines in full.
_SHORT_LINE_COLUMNS: Final = 30
_LINE_END = re.compile(r"(?<![,，、;；(（\n])\n[ \t]*(?=[^\sa-z])")
_ENUMERATED = re.compile(
    r"(?:[一二三四五六七八九十]{1,3}、|第[一二三四五六七八九十]{1,3}[条章节條節]|[(（][一二三四五六七八九十]{1,3}[)）])"
    r"[^。!！?？…;；:：,，|\n]{1,20}\Z"
)
_YES_OR_NO_COLUMNS: Final = 14  # of an answer's first sentence that is no more than yes or no
_LABELLED = re.compile(r"\n(?=[^\W\d_a-z][^:：\n|]{0,30}[:：][ \t]*\S)")
_LABEL_LINE = re.compile(r"[^\W\d_a-z][^:：\n|]{0,30}[:：][ \t]*\S[^\n]*\Z")
_MARKS: Final = "*_` \t"
_STRONG = re.compile(r"(?<![A-Za-z0-9])\*\*|\*\*(?![A-Za-z0-9])")
_ASKS: Final = ("?", "？")
_ENDS_LINE = re.compile(r"[ \t*_`]*(?:\n|\Z)")
_ASK_MARK = re.compile(r"(?:Q|Question|问|問)\s{0,3}\d{0,3}[:：.、]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Block:
    """A list: its items, each with its marker, and the line that introduces it, if one does."""

    items: tuple[Span, ...]
    intro: Span | None = None

    @property
    def span(self) -> Span:
        """The stretch from the introduction to the end of the last item."""
        first = self.items[0] if self.intro is None else self.intro
        return Span(first.start, self.items[-1].end)


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, a list's item or a table's row that could be quoted.

    `headings` stand over it in the text, outermost first. `question` is one that the text asks
    right above it, `after` the number of units between the two. `head` is its table's head row,
    `block` its list, or the list that it introduces, `answer` the short paragraph that it is of,
    if that answers a question.
    """

    start: int
    end: int
    kind: UnitKind = "sentence"
    headings: tuple[str, ...] = ()
    question: str = ""
    after: int = 0
    head: Span | None = None
    block: Block | None = None
    answer: Span | None = None


def units(text: str) -> list[Unit]:
    """List what could be quoted of a text, in order; headings and questions are not.

    >>> text = "# Leave\\n\\n**May I carry days over?** Five.\\n\\n- Ask early.\\n- Ask Ann."
    >>> for unit in units(text):
    ...     print(unit.kind, unit.headings, unit.question, text[unit.start : unit.end], sep=" | ")
    sentence | ('Leave',) | May I carry days over? | Five.
    item | ('Leave',) | May I carry days over? | - Ask early.
    item | ('Leave',) | May I carry days over? | - Ask Ann.
    """
    spans = list(_spans(text))
    blocks = _blocks(text)
    starts = [block.items[0].start for block in blocks]
    place = Unit(0, 0)
    levels: dict[int, str] = {}
    listed: list[Unit] = []
    head: Span | None = None
    for number, span in enumerate(spans):
        piece = text[span.start : span.end]
        if _FENCE.match(piece):
            continue
        if heading := _heading(text, span):
            level, name = heading
            levels = {n: other for n, other in levels.items() if n < level} | {level: name}
            asks = name if name.endswith(_ASKS) else ""
            place = Unit(0, 0, headings=tuple(levels[n] for n in sorted(levels)), question=asks)
            continue
        if title := _title(text, span):
            levels = {7: title}
            listed.append(Unit(span.start, span.end, "title"))
            place = Unit(0, 0, headings=(title,))
            continue
        if asked := _question(text, span):
            place = replace(place, question=asked, after=0)
            continue
        row = piece.startswith("|")
        if row and (is_rule(piece) or _is_rule(text, spans, number + 1)):
            head = head if is_rule(piece) else span
            continue
        head = head if row else None
        at = bisect_right(starts, span.start) - 1
        block = blocks[at] if at >= 0 and span.start < blocks[at].items[-1].end else None
        kind: UnitKind = "row" if row else "item" if block else "sentence"
        start = span.start
        if listed and (
            _says_yes_or_no(text, listed[-1], place, start) or _same_item(listed[-1], block, span)
        ):
            start, place = listed[-1].start, replace(place, after=listed[-1].after)
            listed.pop()
        listed.append(replace(place, start=start, end=span.end, kind=kind, head=head, block=block))
        place = replace(place, after=place.after + 1)
    return _answering(text, _introducing(text, listed, blocks))


def _answering(text: str, listed: Sequence[Unit]) -> list[Unit]:
    """Give the sentences below a question the whole of the paragraph that they are of."""
    done: list[Unit] = []
    for _, below in groupby(listed, key=lambda unit: unit.question):
        same = list(below)
        end = same[0].end
        for before, unit in pairwise(same):
            if "\n\n" in text[before.end : unit.start] or unit.kind != "sentence":
                break
            end = unit.end
        span = Span(same[0].start, end)
        short = bool(same[0].question) and end - span.start <= MAX_ITEM_CHARS
        done += [replace(unit, answer=span if short and unit.end <= end else None) for unit in same]
    return done


def item_text_start(text: str, start: int, end: int) -> int:
    """Return where the words of an item or a quoted line begin, after its marks."""
    marker = _ITEM.match(text, start, end) or _QUOTED_LINE.match(text, start, end)
    return marker.end() if marker else start


def _introducing(text: str, listed: Sequence[Unit], blocks: Sequence[Block]) -> list[Unit]:
    """Give each list the sentence with a colon right before it, and that sentence its list."""
    with_intro: dict[int, Block] = {}
    before: dict[int, Unit] = {}
    for unit, following in pairwise(listed):
        block = following.block
        ends = text[unit.start : unit.end].rstrip(_MARKS).endswith((":", "："))
        if block and ends and unit.block is None and following.start <= block.items[0].start:
            before[block.items[0].start] = unit
    for block in blocks:
        if intro := before.get(block.items[0].start):
            with_intro[block.items[0].start] = replace(block, intro=Span(intro.start, intro.end))
    return list(_with_blocks(listed, with_intro))


def _with_blocks(listed: Sequence[Unit], with_intro: dict[int, Block]) -> Iterator[Unit]:
    of_intro = {block.intro.start: block for block in with_intro.values() if block.intro}
    for unit in listed:
        if unit.block is not None:
            first = unit.block.items[0].start
            yield replace(unit, block=with_intro.get(first, unit.block))
        else:
            yield replace(unit, block=of_intro.get(unit.start))


def _spans(text: str) -> Iterator[Span]:
    """Split a text into sentences and lines that are whole, strong emphasis kept together."""
    for span in _balanced(text, sentences(text)):
        start = span.start
        for match in _LINE_END.finditer(text, span.start, span.end):
            line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
            labelled = _LABELLED.match(text, match.start()) and _LABEL_LINE.match(line)
            if labelled or (line.strip() and _columns(line) <= _SHORT_LINE_COLUMNS):
                yield Span(start, match.start())
                start = match.end()
        if start < span.end:
            yield Span(start, span.end)


def _columns(line: str) -> int:
    """Count the columns that a line takes; CJK characters take two."""
    return sum(1 + (east_asian_width(character) in "WF") for character in line)


def _balanced(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Leave the mark that closes a sentence's strong emphasis at that sentence's end."""
    start = None
    for number, span in enumerate(spans):
        begin = span.start if start is None else start
        start, end = None, span.end
        following = spans[number + 1].start if number + 1 < len(spans) else len(text)
        open_marks = len(_STRONG.findall(text, begin, end)) % 2
        if open_marks and text.startswith("**", following):
            end = start = following + 2
            while start < len(text) and text[start].isspace():
                start += 1
            last = spans[number + 1].end if number + 1 < len(spans) else len(text)
            if start >= last:  # nothing but the mark was there
                yield Span(begin, end)
                continue
        if begin < end:
            yield Span(begin, end)


def _heading(text: str, span: Span) -> tuple[int, str] | None:
    """Return a heading's level and words; a bold line and a short line alone are of the lowest."""
    piece = text[span.start : span.end]
    if found := _HEADING.match(piece):
        level = len(found[1]) if found[1] else 1
        return level, (found[2] or found[4] or "").strip(_MARKS + "#")
    if "\n" in piece or not _is_line(text, span):
        return None
    if (found := _BOLD_LINE.match(piece)) and not piece.rstrip("*_:：").endswith(_ASKS):
        return 7, found[1] or found[2]
    return None


def _title(text: str, span: Span) -> str:
    """Return the words of a title without a mark: a paragraph of a line or two before a text."""
    piece = text[span.start : span.end]
    if subject := _SUBJECT.match(piece):
        return piece[subject.end() :]
    if _ENUMERATED.match(piece) and _is_line(text, span):
        return piece
    if _is_numbered_title(text, span.start):
        return piece
    begins = _line_start(text, span.start)
    opens = begins == 0 or text[max(begins - 2, 0) : begins] == "\n\n"
    if opens and _TITLE_LINES.match(piece) and _BODY.match(text, span.end):
        return " ".join(piece.split())
    return ""


def _is_numbered_title(text: str, start: int) -> bool:
    """Tell whether a line is a short title with a number, with the text that it heads below."""
    return _NUMBERED_TITLE.match(text, start) is not None


def _is_line(text: str, span: Span) -> bool:
    """Tell whether a span is all of its line."""
    return _line_start(text, span.start) >= 0 and _ENDS_LINE.match(text, span.end) is not None


def _line_start(text: str, start: int) -> int:
    """Return where the line begins of which nothing but blanks stands before an offset, else -1."""
    while start and text[start - 1] in " \t":
        start -= 1
    return start if not start or text[start - 1] == "\n" else -1


def _question(text: str, span: Span) -> str:
    """Return the words of a sentence that asks what the next ones answer, "" for any other.

    It is the only one of its line, or stands in strong emphasis.
    """
    piece = text[span.start : span.end]
    words = piece.strip(_MARKS + ">#-•")
    if not words.endswith(_ASKS) or len(words) > _MAX_QUESTION_CHARS or "\n" in words:
        return ""
    if _line_start(text, span.start) < 0:
        return ""
    if not piece.rstrip().endswith(("**", "__")) and not _ENDS_LINE.match(text, span.end):
        return ""
    marker = _ASK_MARK.match(words)
    return words[marker.end() :] if marker else words


def _says_yes_or_no(text: str, before: Unit, place: Unit, start: int) -> bool:
    """Tell whether the unit before opens the answer to a question and says no more than "No."."""
    if not place.question or (before.question, before.after) != (place.question, 0):
        return False
    return place.after == 1 and before.kind == "sentence" and _is_short(text, before, start)


def _same_item(before: Unit, block: Block | None, span: Span) -> bool:
    """Tell whether a sentence goes on in the item of the unit before, and is short beside it."""
    if block is None or before.block != block or span.end - before.start > MAX_ITEM_CHARS:
        return False
    at = bisect_right(block.items, before.start, key=lambda item: item.start) - 1
    return at >= 0 and span.end <= block.items[at].end


def _is_short(text: str, before: Unit, start: int) -> bool:
    between = text[before.start : start]
    return "\n" not in between and _columns(between) <= _YES_OR_NO_COLUMNS


def _is_rule(text: str, spans: Sequence[Span], number: int) -> bool:
    return number < len(spans) and is_rule(text[spans[number].start : spans[number].end])


def _blocks(text: str) -> list[Block]:
    """Find the lists of two and more items; an item goes on in lines that are indented."""
    blocks: list[Block] = []
    items: list[Span] = []
    start = 0
    blank = False
    for line in text.splitlines(keepends=True):
        end = start + len(line.rstrip())
        if not line.strip():
            blank = True
        elif _ITEM.match(line) and not _is_numbered_title(text, start):
            items.append(Span(start + len(line) - len(line.lstrip(" \t")), end))
            blank = False
        elif (items and _INDENTED.match(line)) or (
            items and not blank and not line.startswith("|")
        ):
            items[-1] = Span(items[-1].start, end)
        else:
            blocks += [Block(tuple(items))] if len(items) > 1 else []
            items = []
        start += len(line)
    return [*blocks, *([Block(tuple(items))] if len(items) > 1 else [])]
