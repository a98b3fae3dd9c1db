"""Find the blanks of a sentence that a question can ask for: dates, numbers, names, words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ragkit.answer.check.names import find_names
from ragkit.answer.check.numbers import find_numbers
from ragkit.question.reading import has_cjk, read_question
from ragkit.text.analyse import CJK, analyse
from ragkit.types import Span

Kind = Literal["date", "time", "number", "name", "term"]

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?:,? \d{{4}})?\b|\b{_MONTH} \d{{1,2}}(?:, \d{{4}})?\b"
    r"|(?<!\d)(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号號])|(?<!\d)\d{4}年\d{1,2}月|(?<!\d)\d{4}年"
    r"|(?<![一二三四五六七八九十个個])(?:十[一二]?|[一二三四五六七八九])月(?!份?[以内])"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|(?:周|星期)[一二三四五六日天]"
)
_TIME = re.compile(r"(?<![\d:：])\d{1,2}[:：]\d{2}(?![\d:：])")
_WORD_NUMBER = re.compile(
    r"(?<!\b[Tt]he )\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty"
    r"|thirty|forty|fifty|sixty|ninety)\b"
    # With its measure word: one character is no term, and a gap before 个工作日 tells too much.
    r"|(?<![第周期每百千万萬十\d之分])[二两兩三四五六七八九十](?:个工作日|個工作日|个小时|個小時|小时|小時|分钟|分鐘"
    r"|个月|個月|周岁|[个個名位天年月次米台臺份周倍岁歲点點家項项条條种種层層])"
)
_SUBJECT = re.compile(rf"^([{CJK}]{{3,7}}?)(?=是|位于|位於|负责|負責)")
_LOOSE = re.compile(
    "[的了在和与與及等不也都就各每其我你他她它这那這是有说說认認于於以对對将將从從把被为為会會]"
)
_SUBORDINATE = re.compile(
    r"(?:Because|Although|Though|Since|While|When|If|Unless|Until|After|Before|Despite|Unlike|During"
    r"|Under|Both|Among|Like|As|To)\b"
)
_WORD = re.compile(r"\b[A-Za-z]{5,}\b")
_CURRENCY = "€$£¥￥"
_RANKS: dict[Kind, int] = {"date": 0, "time": 0, "number": 0, "name": 1, "term": 2}


@dataclass(frozen=True, slots=True)
class Blank:
    """A span `start:end` of a sentence that its question asks for."""

    start: int
    end: int
    kind: Kind


def blanks(text: str, weight: Callable[[str], float]) -> list[Blank]:
    """Find what a sentence can be asked for: facts before names before words, rare terms first.

    `weight` returns a term's rarity. A text that occurs twice in the sentence is left out, and so
    is one without which too little of the sentence remains.

    >>> [text[b.start : b.end] for text in ["Anna Berg pays €1,500 by 31 March."]
    ...     for b in blanks(text, len)]
    ['31 March', '€1,500', 'Anna Berg']
    """
    candidates: list[Blank] = []
    for kind, spans in _find_candidates(text):
        for span in spans:
            if all(span.end <= blank.start or blank.end <= span.start for blank in candidates):
                candidates.append(Blank(span.start, span.end, kind))
    fit = [blank for blank in candidates if _is_usable(text, blank)]

    def order(blank: Blank) -> tuple[int, float, int]:
        rarest = max(map(weight, analyse(text[blank.start : blank.end])), default=0.0)
        return _RANKS[blank.kind], -rarest, blank.start

    return sorted(fit, key=order)


def _find_candidates(text: str) -> Iterator[tuple[Kind, Iterable[Span]]]:
    yield "date", _find_spans(_DATE, text)
    yield "time", _find_spans(_TIME, text)
    yield "number", _find_numbers(text)
    yield "number", _find_spans(_WORD_NUMBER, text)
    yield "name", _find_names(text)
    if has_cjk(text):
        subject = _SUBJECT.match(text)
        if subject and not _LOOSE.search(subject[1]):
            yield "term", [Span(*subject.span(1))]
    else:
        content = read_question(text).content
        yield (
            "term",
            (s for s in _find_spans(_WORD, text) if content & {*analyse(text[s.start : s.end])}),
        )


def _find_spans(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    return (Span(*match.span()) for match in pattern.finditer(text))


def _find_numbers(text: str) -> Iterator[Span]:
    """Find numbers that count or measure, with their currency, but no parts of names."""
    for number in find_numbers(text):
        start, end = number.start, number.end
        head, tail = text[:start], text[end:]
        if re.search(r"[\w#.][-/–]?$", head) and not has_cjk(head[-1:]):
            continue  # RL-400, 1.2.3
        if re.match(r"[A-Za-z_]|[-/.:：]\w|\s?[-–—~～]{1,2}\s?\d", tail):
            continue  # 3D, 24-hour, 10:00, the half of 10 -- 20
        if head.endswith(("第", "No. ")):
            continue
        money = re.search(rf"[{_CURRENCY}]\s?$", head)
        yield Span(money.start() if money else start, end)


def _find_names(text: str) -> Iterator[Span]:
    """Find names, joining their words; the first word of a sentence alone is no name."""
    joined: Span | None = None
    opening = _SUBORDINATE.match(text)
    for span in find_names(text):
        if opening and span.start < opening.end():
            continue
        if joined is not None and text[joined.end : span.start] == " ":
            joined = Span(joined.start, span.end)
            continue
        if joined is not None:
            yield joined
        joined = span
    if joined is not None:
        yield joined


def _is_usable(text: str, blank: Blank) -> bool:
    answer, remaining = text[blank.start : blank.end], text[: blank.start] + " " + text[blank.end :]
    if "\n" in answer or not analyse(answer) or "*" in answer:
        return False
    # Case is ignored only in the answer: for all of CJK the pattern takes 10 ms to compile.
    repetition = re.search(rf"(?<![^\W{CJK}])(?i:{re.escape(answer)})(?![^\W{CJK}])", remaining)
    return repetition is None and len(read_question(remaining).content) >= 3
