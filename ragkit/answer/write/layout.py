"""The layout of a passage's text: headings, questions with answers, lists and tables.

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
MAX_ITEM_CHARS: Final = 300  # of an item that is quoted as one; arbitrary
MAX_LIST_CHARS: Final = 1000  # arbitrary: about ten lines of a terminal
_MAX_QUESTION_CHARS: Final = 200

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)$|(=)\s(.*)\s=$", re.DOTALL)
_MARKED_LINE = re.compile(
    r"(?:\*\*([^*]{1,200})\*\*|__([^_]{1,200})__"
    r"|【([^【】\n]{1,40})】|〖([^〖〗\n]{1,40})〗)[:：]?$"
)
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)、]|[(（]\d{1,3}[)）])(?:[ \t]+|(?<=[、）]))(?=\S)")
_QUOTED_LINE = re.compile(r"(?:>[ \t]*)+")
_TITLE_LINES = re.compile(
    r"[^。!！?？…;；:：|\n]{1,100}(?:\n[^。!！?？…;；:：|\n]{1,100})?(?<![.,，、])\Z"
)
_SUBJECT = re.compile(r"(?:Subject|Re|主题|主題|标题|標題)[ \t]?[:：][ \t]*", re.IGNORECASE)
# The text below a title: a sentence, a list, a table, a label.
_BODY = re.compile(
    r"[ \t]*\n[ \t]*\n\s*(?:(?:[^\n]{0,200}\n){0,2}[^\n]{0,200}[.。!！?？:：]|[-*+•|#]|\d{1,3}[.)])"
)
_NUMBERED_TITLE = re.compile(
    r"\d{1,2}[.、)][ \t]*[^\W\d_][^\n.。!！?？…;；:：,，|]{0,38}\n"
    r"(?=[^\sa-z*+•|#>-])(?!\d{1,3}[.)、])"
)
_INDENTED = re.compile(r"[ \t]{2,}\S")
_FENCE = re.compile(r"(?:`{3,}+|~{3,}+)[^\s`~]*\s*$")
# A line this short without punctuation at its end is a unit of its own, as is a label.
_SHORT_LINE_COLUMNS: Final = 30
_LINE_END = re.compile(r"(?<![,，、;；(（\n])\n[ \t]*(?=[^\sa-z])")
_ENUMERATED = re.compile(
    r"(?:[一二三四五六七八九十]{1,3}、|第[一二三四五六七八九十]{1,3}[条章节條節]|[(（][一二三四五六七八九十]{1,3}[)）])"
    r"[^。!！?？…;；:：,，|\n]{1,20}\Z"
    r"|[议議][题題程][一二三四五六七八九十\d]{1,3}[:：、][^。!！?？…;；:：,，|\n]{1,30}\Z"
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
    """A list: its items with their markers, and the line that introduces it, if any.

    The rows of a table are one, too, without an introduction.
    """

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
    right above it, `distance` the number of units between the two. `head` is its table's head row,
    `block` its list, or the list that it introduces, `answer` the short paragraph that it belongs
    to, if that answers a question.
    """

    start: int
    end: int
    kind: UnitKind = "sentence"
    headings: tuple[str, ...] = ()
    question: str = ""
    distance: int = 0
    head: Span | None = None
    block: Block | None = None
    answer: Span | None = None


def split_units(text: str) -> list[Unit]:
    """List the units of a text that could be quoted, in order, without headings and questions.

    >>> text = "# Leave\\n\\n**May I carry days over?** Five.\\n\\n- Ask early.\\n- Ask Ann."
    >>> for unit in split_units(text):
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
            levels = {n: above for n, above in levels.items() if n < level} | {level: name}
            asks = name if name.endswith(_ASKS) else ""
            place = Unit(0, 0, headings=tuple(levels[n] for n in sorted(levels)), question=asks)
            continue
        if title := _title(text, span):
            levels = {7: title}
            listed.append(Unit(span.start, span.end, "title"))
            place = Unit(0, 0, headings=(title,))
            continue
        if question := _question(text, span):
            place = replace(place, question=question, distance=0)
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
            start, place = listed[-1].start, replace(place, distance=listed[-1].distance)
            listed.pop()
        listed.append(replace(place, start=start, end=span.end, kind=kind, head=head, block=block))
        place = replace(place, distance=place.distance + 1)
    return list(_with_tables(_with_answers(text, _with_introductions(text, listed, blocks))))


def _with_tables(units: Sequence[Unit]) -> Iterator[Unit]:
    """Give each row of a table the block of all its rows."""
    for (kind, _), group in groupby(units, key=lambda unit: (unit.kind, unit.head)):
        members = list(group)
        table = None
        if kind == "row" and len(members) > 1:
            table = Block(tuple(Span(row.start, row.end) for row in members))
        yield from (replace(unit, block=table) for unit in members) if table else members


def _with_answers(text: str, listed: Sequence[Unit]) -> list[Unit]:
    """Give the sentences below a question the paragraph that they belong to."""
    units: list[Unit] = []
    for _, group in groupby(listed, key=lambda unit: unit.question):
        members = list(group)
        end = members[0].end
        for previous, unit in pairwise(members):
            if "\n\n" in text[previous.end : unit.start] or unit.kind != "sentence":
                break
            end = unit.end
        span = Span(members[0].start, end)
        short = bool(members[0].question) and end - span.start <= MAX_ITEM_CHARS
        units += [
            replace(unit, answer=span if short and unit.end <= end else None) for unit in members
        ]
    return units


def item_text_start(text: str, start: int, end: int) -> int:
    """Return where the words of an item or a quoted line begin, after its marks."""
    marker = _ITEM.match(text, start, end) or _QUOTED_LINE.match(text, start, end)
    return marker.end() if marker else start


def _with_introductions(text: str, listed: Sequence[Unit], blocks: Sequence[Block]) -> list[Unit]:
    """Give each list the sentence with a colon right before it, and that sentence its list."""
    with_intro: dict[int, Block] = {}
    introductions: dict[int, Unit] = {}
    for unit, following in pairwise(listed):
        block = following.block
        ends = text[unit.start : unit.end].rstrip(_MARKS).endswith((":", "："))
        if block and ends and unit.block is None and following.start <= block.items[0].start:
            introductions[block.items[0].start] = unit
    for block in blocks:
        if intro := introductions.get(block.items[0].start):
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
    """Split a text into sentences and complete lines, without splitting strong emphasis."""
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
    """Count a line's columns; CJK characters take two."""
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
            if start >= last:  # the mark stands alone
                yield Span(begin, end)
                continue
        if begin < end:
            yield Span(begin, end)


def _heading(text: str, span: Span) -> tuple[int, str] | None:
    """Return a heading's level and words; a line in bold or in brackets has the lowest level."""
    piece = text[span.start : span.end]
    if match := _HEADING.match(piece):
        level = len(match[1]) if match[1] else 1
        return level, (match[2] or match[4] or "").strip(_MARKS + "#")
    if "\n" in piece or not _is_line(text, span):
        return None
    if (match := _MARKED_LINE.match(piece)) and not piece.rstrip("*_:：").endswith(_ASKS):
        return 7, next(filter(None, match.groups()))
    return None


def _title(text: str, span: Span) -> str:
    """Return the words of a title without a mark: a paragraph of one or two lines before a text."""
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
    """Tell whether a line is a short numbered title with its text below."""
    return _NUMBERED_TITLE.match(text, start) is not None


def _is_line(text: str, span: Span) -> bool:
    """Tell whether a span fills its line."""
    return _line_start(text, span.start) >= 0 and _ENDS_LINE.match(text, span.end) is not None


def _line_start(text: str, start: int) -> int:
    """Return where the line begins if only blanks stand before an offset, else -1."""
    while start and text[start - 1] in " \t":
        start -= 1
    return start if not start or text[start - 1] == "\n" else -1


def _question(text: str, span: Span) -> str:
    """Return the words of a question that the next sentences answer, "" for any other sentence.

    The question stands alone on its line, or in strong emphasis.
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


def _says_yes_or_no(text: str, previous: Unit, place: Unit, start: int) -> bool:
    """Tell whether the previous unit opens the answer to a question with a mere "No."."""
    if not place.question or (previous.question, previous.distance) != (place.question, 0):
        return False
    return place.distance == 1 and previous.kind == "sentence" and _is_short(text, previous, start)


def _same_item(previous: Unit, block: Block | None, span: Span) -> bool:
    """Tell whether a sentence continues the item of the previous unit and both together are
    short.
    """
    if block is None or previous.block != block or span.end - previous.start > MAX_ITEM_CHARS:
        return False
    at = bisect_right(block.items, previous.start, key=lambda item: item.start) - 1
    return at >= 0 and span.end <= block.items[at].end


def _is_short(text: str, previous: Unit, start: int) -> bool:
    between = text[previous.start : start]
    return "\n" not in between and _columns(between) <= _YES_OR_NO_COLUMNS


def _is_rule(text: str, spans: Sequence[Span], number: int) -> bool:
    return number < len(spans) and is_rule(text[spans[number].start : spans[number].end])


def _blocks(text: str) -> list[Block]:
    """Find the lists of two and more items; indented lines continue an item."""
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
