"""Headings of a PDF without an outline: lines set larger than the text, or bold and apart.

Sizes are compared with the text's own, the size and weight that most characters have. A document
in one size and one weight has no headings here, but for Chinese chapters (第一章) on lines of their
own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragkit.text.analyse import CJK, CJK_CHARACTER
from ragkit_ingest.parse.pdf.evidence import weight
from ragkit_ingest.parse.pdf.fonts import Font
from ragkit_ingest.parse.pdf.lines import Line

_SAME_SIZE = 0.03  # of a size: programs round
_LARGER = 1.06  # of the text's size, with something else that marks a heading; 12 points over 11
_MUCH_LARGER = 1.2  # so large, nothing else is asked
_AS_LARGE = 0.95  # of the text's size; smaller bold lines are heads of tables and captions
_APART = 1.15  # of the usual distance between lines: white above
_WIDE_STEP = 1.8  # of the text's size: lines of one paragraph are seldom further from each other
_TOGETHER = 1.6  # of the size: lines so near below each other are one heading
_MAX_LINES = 3
_MAX_CHARS = 160  # arbitrary; Chinese characters counting two
_MAX_WORDS_OF_SENTENCE = 8  # arbitrary: with a full stop, more is a sentence
_MAX_SHARE = 0.5  # of a document's characters in one style of headings; slides have many
_MAX_BOLD_SHARE = 0.35  # the same of bold lines of the text's size
_MIN_PLAIN_SHARE = 0.25  # of the characters: as many in plain fonts make one of these the text's
_SIDE = 0.4  # of a line's height: middles so near stand side by side
_COARSE = 6.0  # points: lines that begin so near each other begin at one place
_MAX_CHAIN = 4  # candidates without text between them: title, subtitle, chapter, section
_MAX_CHAPTER_CHARS = 30  # arbitrary
_MIN_RUNNING_CHARS = 16  # of a running head with a page number; shorter is "Question 2"; arbitrary
_MIN_TEXT_CHARS = 6  # of a line of text; arbitrary
_LETTERS = re.compile(rf"[^\W\d_].*[^\W\d_]|[{CJK}]")
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)?|tab(?:le|\.)?|abb(?:ildung|\.)?|tabelle|figura|tableau|listing|图|圖|表)"
    r"\s*(?:[A-Z]\.?)?\d",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[•‣◦▪▫●○■□◆◇★·∙–—*\uf0a7\uf0b7\uf0d8-]\s*")
_SENTENCE = re.compile(r"[.。]['\"”’)]?$")
_OPEN = re.compile(r"[,;，；、]$|[-‐]$")
_COLON = re.compile(r"[:：]$")
_LEADER = re.compile(r"(?:\.\s?){4,}|…{2,}|\s\d{1,4}$")
_PAGE_NUMBER = re.compile(r"^\d{1,4}(?=\s)|(?<=\s)\d{1,4}$")
_DECIMAL = re.compile(
    r"(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})*(?=[.)]?\s|[.)、])|[A-Z](?:\.\d{1,3})+(?=\s)"
)
_CHAPTER = re.compile(
    r"第[一二三四五六七八九十百零〇\d]{1,5}[编編篇部章节節](?=\s|\w)[^，。；,;]*\s*$"
)
_CHINESE_DEPTHS = (
    re.compile(r"第[一二三四五六七八九十百\d]+[编編篇部章]"),
    re.compile(r"第[一二三四五六七八九十百\d]+[节節]"),
    re.compile(r"[一二三四五六七八九十]{1,3}、"),
    re.compile(r"[（(][一二三四五六七八九十]{1,3}[)）]"),
    re.compile(r"\d{1,2}[.、．]"),
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: how many lines of a page it has, and its level from 1."""

    lines: int
    level: int


@dataclass(frozen=True, slots=True)
class _Run:
    """Lines of one font that follow each other, from `place` on a page."""

    page: int
    place: int
    lines: Sequence[Line]

    @property
    def text(self) -> str:
        return " ".join(" ".join(line.text for line in self.lines).split())

    @property
    def font(self) -> Font:
        return self.lines[0].font


Style = tuple[float, bool]


def headings(pages: Sequence[Sequence[Line]]) -> dict[tuple[int, int], Heading]:
    """Find headings by (page, place of the first line on it), from lines in reading order."""
    chars = _characters(pages)
    if not chars:
        return {}
    body = _body(chars)
    runs = [run for run in _runs(pages) if _stands_out(run.font, body) or _is_chapter(run.text)]
    step = _usual_step(pages, body)
    candidates = [run for run in runs if _is_heading(run, pages[run.page], body, step)]
    candidates = _followed_by_text(candidates, pages, body)
    running = _running_heads(candidates, body)
    candidates = [run for run in candidates if not running.intersection(_places(run, body))]
    lines = Counter(_style(run.font) for run in runs for _ in run.lines)
    by_style: defaultdict[Style, list[_Run]] = defaultdict(list)
    for run in candidates:
        by_style[_style(run.font)].append(run)
    return _with_levels(
        run
        for style, group in by_style.items()
        if 2 * sum(len(run.lines) for run in group) >= lines[style]
        and sum(len(run.text) for run in group)
        <= (_MAX_SHARE if style[0] >= _LARGER * body.size else _MAX_BOLD_SHARE)
        * sum(chars.values())
        for run in group
    )


def _followed_by_text(
    candidates: Sequence[_Run], pages: Sequence[Sequence[Line]], body: Font
) -> list[_Run]:
    """Leave out many candidates in a row that begin at many places: words of a drawing."""
    chains: list[list[_Run]] = []
    for run in candidates:
        last = chains[-1][-1] if chains else None
        if last and last.page == run.page:
            between = pages[run.page][last.place + len(last.lines) : run.place]
            if not any(_is_text_of(last, line, body) for line in between[:_MAX_LINES]):
                chains[-1].append(run)
                continue
        chains.append([run])
    return [run for chain in chains if not _is_scattered(chain) for run in chain]


def _is_scattered(chain: Sequence[_Run]) -> bool:
    lefts = {round(run.lines[0].left / _COARSE) for run in chain}
    return len(chain) > _MAX_CHAIN and 2 * len(lefts) > len(chain)


def _is_text_of(heading: _Run, line: Line, body: Font) -> bool:
    """Say whether a line stands as text below a heading."""
    above = heading.lines[-1]
    is_below = above.bottom > line.bottom and above.left < line.right and line.left < above.right
    is_long = weight(line) >= _MIN_TEXT_CHARS and not _stands_out(line.font, body)
    return is_below and (bool(line.rows) or is_long)


def _running_heads(candidates: Iterable[_Run], body: Font) -> set[tuple[str, int]]:
    """Give what several pages have at one height: two are too few to be left out as a header."""
    pages: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for run in candidates:
        for place in _places(run, body):
            pages[place].add(run.page)
    return {place for place, numbers in pages.items() if len(numbers) > 1}


def _places(run: _Run, body: Font) -> Iterator[tuple[str, int]]:
    """Give a run's text and height, and the same without a page number that grows by the pages."""
    height = round(run.lines[0].bottom)
    if run.font.size < _MUCH_LARGER * body.size:
        yield run.text, height
    number = _PAGE_NUMBER.search(run.text)
    if number and len(run.text) >= _MIN_RUNNING_CHARS:
        unnumbered = run.text[: number.start()] + run.text[number.end() :]
        yield f"{unnumbered}\0{int(number.group()) - run.page}", height


def _characters(pages: Sequence[Sequence[Line]]) -> Counter[Font]:
    """Count characters by font; those of unknown size, such as a scan's, do not count."""
    chars: Counter[Font] = Counter()
    for page in pages:
        for line in page:
            if line.font.size > 0 and not line.is_turned:
                size = sum(map(len, line.rows[0])) * len(line.rows) if line.rows else 0
                font = Font(_rounded(line.font.size), line.font.is_bold, line.font.is_fixed)
                chars[font] += size or len(line.text)
    return chars


def _body(chars: Mapping[Font, int]) -> Font:
    """Give the text's font: the one of most characters, code and bold lines apart."""
    plain = {f: count for f, count in chars.items() if not (f.is_fixed or f.is_bold)}
    fonts = plain if sum(plain.values()) >= _MIN_PLAIN_SHARE * sum(chars.values()) else chars
    return max(fonts, key=lambda font: fonts[font])


def _usual_step(pages: Sequence[Sequence[Line]], body: Font) -> float:
    """Give the distance of lines within a paragraph: short documents have more between them."""
    steps = [
        above.bottom - below.bottom
        for page in pages
        for above, below in pairwise(page)
        if _is_near(above.font.size, body.size)
        and _is_near(below.font.size, body.size)
        and 0 < above.bottom - below.bottom < 2.5 * body.size
    ]
    step = sorted(steps)[len(steps) // 5] if steps else 0.0
    return min(step or 1.2 * body.size, _WIDE_STEP * body.size)


def _runs(pages: Sequence[Sequence[Line]]) -> Iterator[_Run]:
    for index, page in enumerate(pages):
        first = 0
        for place in range(1, len(page) + 1):
            if place == len(page) or not _continues(page[place - 1], page[place]):
                if not page[first].rows and not page[first].is_turned and page[first].font.size:
                    yield _Run(index, first, page[first:place])
                first = place


def _continues(above: Line, below: Line) -> bool:
    return (
        not (above.rows or below.rows or above.is_turned or below.is_turned)
        and above.font.is_bold == below.font.is_bold
        and above.font.is_fixed == below.font.is_fixed
        and _is_near(above.font.size, below.font.size)
        and 0 < above.bottom - below.bottom <= _TOGETHER * max(above.font.size, 0.1)
        and min(above.right, below.right) > max(above.left, below.left)
        and not (_depth(below.text) or _is_chapter(above.text))
    )


def _stands_out(font: Font, body: Font) -> bool:
    if font.is_fixed and not body.is_fixed:
        return False  # code
    is_bolder = font.is_bold and not body.is_bold
    return font.size >= _LARGER * body.size or (is_bolder and font.size >= _AS_LARGE * body.size)


def _is_chapter(text: str) -> bool:
    """Say whether a line names a chapter or section of a Chinese text, in whatever font."""
    return len(text) <= _MAX_CHAPTER_CHARS and bool(_CHAPTER.match(text))


def _is_heading(run: _Run, page: Sequence[Line], body: Font, step: float) -> bool:
    text = run.text
    is_much_larger = run.font.size >= _MUCH_LARGER * body.size
    is_larger = run.font.size >= _LARGER * body.size
    if len(run.lines) > _MAX_LINES or not _reads_as_heading(text, is_larger=is_larger):
        return False
    above = page[run.place - 1] if run.place else None
    end = run.place + len(run.lines)
    below = page[end] if end < len(page) else None
    if any(line and _is_beside(run, line) for line in (above, below)):
        return False
    if any(_has_columns(line) for line in run.lines):
        return False
    if is_much_larger:
        return True
    if not is_larger and (below is None or (below.has_gap and not _depth(text))):
        return False  # a signature, the head of a table
    return _is_apart(run.lines[0], above, step) and not _opens_paragraph(run, below, step)


def _reads_as_heading(text: str, *, is_larger: bool) -> bool:
    width = len(text) + len(CJK_CHARACTER.findall(text))
    if width > _MAX_CHARS or not _LETTERS.search(text):
        return False
    if _CAPTION.match(text) or _BULLET.match(text) or _OPEN.search(text):
        return False
    if _SENTENCE.search(text) and (
        len(text.split()) > _MAX_WORDS_OF_SENTENCE or not is_larger or text.endswith("。")
    ):
        return False
    return is_larger or not _COLON.search(text)


def _is_beside(run: _Run, line: Line) -> bool:
    return any(
        abs(line.middle - part.middle) <= _SIDE * max(line.height, part.height)
        for part in run.lines
    )


def _has_columns(line: Line) -> bool:
    """Say whether a line has a wide gap elsewhere than after its number, or a page's number."""
    if _LEADER.search(line.text.rstrip()) and line.has_gap:
        return True
    if not line.has_gap:
        return False
    wide = [n for n, (left, right) in enumerate(line.gaps) if right - left > 2.0 * line.height]
    words = line.text.split(" ")
    return wide != [0] or not (_depth(f"{words[0]} ") or words[0].rstrip(".").isalnum())


def _is_apart(line: Line, above: Line | None, step: float) -> bool:
    if above is None or above.rows or above.bottom < line.bottom:
        return True
    return above.bottom - line.bottom >= _APART * max(step, line.font.size)


def _opens_paragraph(run: _Run, below: Line | None, step: float) -> bool:
    """Say whether a paragraph goes on below the run: near, and the run as wide as its lines."""
    if below is None or below.rows or below.bottom > run.lines[-1].bottom:
        return False
    last = run.lines[-1]
    is_near = last.bottom - below.bottom <= _APART * max(step, last.font.size)
    return is_near and last.right >= below.right - last.font.size and not _depth(run.text)


def _with_levels(runs: Iterable[_Run]) -> dict[tuple[int, int], Heading]:
    """Rank headings by size and, where it is the same, by how deep their numbers say they are."""
    by_size: defaultdict[float, list[_Run]] = defaultdict(list)
    for run in runs:
        by_size[_rounded(run.font.size)].append(run)
    groups: defaultdict[float, list[_Run]] = defaultdict(list)
    sizes = _clusters(by_size)
    for size, group in by_size.items():
        groups[sizes[size]] += group
    ranked: list[tuple[tuple[float, int], _Run]] = []
    for size, group in groups.items():
        numbered = [depth for depth in (_depth(run.text) for run in group) if depth]
        is_mixed = len(set(numbered)) > 1
        ranked += [
            ((-size, (_depth(run.text) or min(numbered)) if is_mixed else 0), run) for run in group
        ]
    orders = sorted({order for order, _ in ranked})
    levels = {order: level for level, order in enumerate(orders, 1)}
    return {
        (run.page, run.place): Heading(len(run.lines), min(levels[order], 6))
        for order, run in ranked
    }


def _clusters(values: Iterable[float]) -> dict[float, float]:
    """Map sizes to the largest of those that are nearly the same."""
    clusters: dict[float, float] = {}
    last = 0.0
    for value in sorted(set(values), reverse=True):
        last = last if _is_near(value, last) else value
        clusters[value] = last
    return clusters


def _depth(text: str) -> int:
    """Give how deep a heading's number says that it is; 0 without a number."""
    for depth, pattern in enumerate(_CHINESE_DEPTHS[:4], 1):
        if pattern.match(text):
            return depth
    match = _DECIMAL.match(text)
    return match.group().count(".") + 1 if match else 0


def _style(font: Font) -> Style:
    return _rounded(font.size), font.is_bold


def _rounded(size: float) -> float:
    return round(2 * size) / 2


def _is_near(size: float, other: float) -> bool:
    return abs(size - other) <= _SAME_SIZE * max(size, other)
