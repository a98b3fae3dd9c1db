"""Quotations in an answer, and their location in a source whatever the typography.

Texts are compared in folded form: compatibility forms, variants of Chinese characters, case, white
space, quotation marks, dashes, emphasis and thousands separators do not count, all other characters
do.
"""

import re
from dataclasses import dataclass

from ragkit.text.analyse import CJK, comparable
from ragkit.types import Span

# 《》 hold titles. A straight mark after a letter or digit is an inch or a closing mark.
_QUOTATION = re.compile(
    r"“([^“”]{1,2000})”|「([^「」]{1,2000})」|『([^『』]{1,2000})』"
    r'|(?<![A-Za-z0-9])["＂](?=\S)([^"＂\n]{1,2000})(?<=\S)["＂](?![A-Za-z0-9])'
)
_ELLIPSIS = re.compile(r"(?:(?<!\s)\s++)?[\[(（]?(?:\.{3,}|…+)[\])）]?\s*")
_EDGES = " \t\n,.;:!?，。；：！？、"
_CJK = re.compile(f"[{CJK}]")
_CJK_PUNCTUATION = re.compile("[\u3000-\u303f，。；：！？（）]")
_WORD = re.compile(rf"(?:(?![{CJK}_])\w)+")
_SAME = str.maketrans(
    dict.fromkeys("“”„‟«»「」『』＂", '"')
    | dict.fromkeys("‘’‚‛′´", "'")
    | dict.fromkeys("‐‑‒–—―−﹣－", "-")
    | dict.fromkeys("*`\u00ad\u200b\u200c\u200d\u2060\ufeff")  # emphasis and invisible: gone
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in comparable form; its character i corresponds to `spans[i]` of the original."""

    text: str
    spans: tuple[Span, ...]


def find_quotations(text: str) -> list[Span]:
    """Find the texts in quotation marks that are long enough for a quotation, marks excluded.

    That is two words or four Chinese characters: shorter ones are terms or irony.

    >>> text = 'The "remote work policy" is 「每周最多两天」, a "perk".'
    >>> [text[s.start : s.end] for s in find_quotations(text)]
    ['remote work policy', '每周最多两天']
    """
    spans: list[Span] = []
    for match in _QUOTATION.finditer(text):
        start, end = match.span(match.lastindex or 0)
        inner = text[start:end]
        if len(_WORD.findall(inner)) + len(_CJK.findall(inner)) / 2 >= 2:
            spans.append(Span(start, end))
    return spans


def fold(text: str) -> Folded:
    """Bring a text into comparable form, with the origin of each character."""
    characters: list[str] = []
    spans: list[Span] = []
    for match in re.finditer(r"\s+|.[\u0300-\u036f]*", text, re.DOTALL):
        piece = match.group()
        if piece.isspace():
            folded = "" if _next_to_cjk(text, match) else " "
        else:
            folded = comparable(piece.translate(_SAME))
        characters.extend(folded)
        spans.extend([Span(match.start(), match.end())] * len(folded))
    joined = "".join(characters)
    commas = {match.start() for match in _THOUSANDS.finditer(joined)}
    places = [i for i in range(len(joined)) if i not in commas]
    return Folded("".join(joined[i] for i in places), tuple(spans[i] for i in places))


def locate(quotation: str, source: Folded) -> Span | None:
    """Find a quotation in a source: the span from its first to its last character, or None.

    An ellipsis matches any text of the source. Words and numbers match in full; the punctuation at
    the edges, often the answer's own, matches or is left out.
    """
    parts = _ELLIPSIS.split(quotation)
    return _locate([part.strip() for part in parts], source) or _locate(
        [part.strip(_EDGES) for part in parts], source
    )


def _locate(parts: list[str], source: Folded) -> Span | None:
    first: int | None = None
    at = 0
    for part in filter(None, (fold(part).text for part in parts)):
        start = _find(part, source.text, at)
        if start < 0:
            return None
        first = start if first is None else first
        at = start + len(part)
    return None if first is None else Span(source.spans[first].start, source.spans[at - 1].end)


def _find(part: str, text: str, at: int) -> int:
    start = text.find(part, at)
    while start >= 0:
        end = start + len(part)
        if not (_splits_word(text, start) or _splits_word(text, end)):
            return start
        start = text.find(part, start + 1)
    return -1


def _splits_word(text: str, at: int) -> bool:
    """Tell whether a cut at this place would split a word or a number."""
    if not 0 < at < len(text):
        return False
    if _WORD.fullmatch(text[at - 1 : at + 1]):
        return True
    return re.fullmatch(r"\d[.,]\d", text[at - 1 : at + 2]) is not None or (
        at > 1 and re.fullmatch(r"\d[.,]\d", text[at - 2 : at + 1]) is not None
    )


def _next_to_cjk(text: str, match: re.Match[str]) -> bool:
    around = text[max(match.start() - 1, 0) : match.start()] + text[match.end() : match.end() + 1]
    return bool(_CJK.search(around) or _CJK_PUNCTUATION.search(around))
