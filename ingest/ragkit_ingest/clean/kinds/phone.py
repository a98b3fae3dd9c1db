"""Find telephone numbers: international ones, Chinese ones, and common national ways of writing.

What has no shape of its own (eight digits in a row) counts only where the text says that it is a
telephone's; what is said to be an order's number, or is an amount, does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ragkit.types import Span
from ragkit_ingest.clean.kinds.context import is_reference, is_telephone

_BEFORE = r"(?<![0-9A-Za-z_])(?<![0-9][.])(?<![0-9A-Za-z]-)"
_AFTER = r"(?![0-9A-Za-z_])(?![-.][0-9])"
_EXTENSION = r"(?: ?(?:x|ext\.?) ?[0-9]{1,6}+)?+"
# ITU-T E.164: the country codes that are assigned, but 1, of which the numbers have a shape.
_COUNTRY = (
    "(?:7|20|27|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]"
    "|(?:2[1-689]|3[578]|42|50|59|6[7-9]|8[0578]|9[679])[0-9])"
)
_INTERNATIONAL = re.compile(
    rf"(?<![0-9A-Za-z)+])(?:\+|00(?=(?:1|{_COUNTRY})[ -]))"
    rf"(?:1[ .-]?\(?[2-9][0-9]{{2}}\)?[ .-]?[0-9]{{3}}[ .-]?[0-9]{{4}}(?![0-9]){_EXTENSION}"
    r"|86[ -]?1[3-9][0-9](?:[ -]?[0-9]{4}){2}(?![0-9])"
    rf"|({_COUNTRY}(?:[-. /()]{{0,3}}[0-9]){{7,12}}(?![0-9])))"
)
_SHAPES: Final = (
    # China: mobiles, landlines with an extension, service numbers.
    r"(?:86[ -]?)?1[3-9][0-9](?:[0-9]{8}|-[0-9]{4}-[0-9]{4})",
    r"(?:86[ -]?|(?<![0-9] ))1[3-9][0-9] [0-9]{4} [0-9]{4}(?! [0-9])",  # else a row of figures
    r"(?:86[ -])?(?:[(（]0?(?:10|2[0-9]|[3-9][0-9]{2})[)）] ?|0(?:10|2[0-9]|[3-9][0-9]{2})[ -])"
    r"[2-9](?:[0-9]{6,7}|[0-9]{2,3}[ -][0-9]{4})(?:(?:-|转|轉)[0-9]{1,6})?",
    r"86[ -](?:10|2[0-9]|[3-9][0-9]{2})[ -][2-9][0-9]{6,7}",
    r"[48]00-[0-9]{4}-[0-9]{3}",
    # North America, Great Britain, France.
    r"(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?[0-9]{3}[ .-]|[2-9][0-9]{2}-[0-9]{3}-"
    rf"|[2-9][0-9]{{2}}\.[0-9]{{3}}\.)[0-9]{{4}}{_EXTENSION}",
    r"(?:\(0[1-9][0-9]{1,3}\)|0[1-9][0-9]{1,3}) (?:[0-9]{6}|[0-9]{3,4} [0-9]{3,4})",
    r"07[0-9]{3} (?:[0-9]{6}|[0-9]{3} [0-9]{3})",
    r"0[1-9](?:[ .][0-9]{2}){4}",
)
_NATIONAL = re.compile(f"{_BEFORE}(?:{'|'.join(_SHAPES)}){_AFTER}")
# Seven digits at least, in groups; only after a word such as "Tel".
_LABELLED = re.compile(
    r"[+(（]{0,2}[0-9]{1,15}+(?:(?![0-9])[)）]?+ ?+[-./]?+ ?+[(（]?+[0-9]{1,15}+){0,5}"
    rf"{_AFTER}"
)
_DATE = re.compile(r"(?:19|20)[0-9]{2}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}([-./])[0-9]{1,2}\1")
_FEWEST_DIGITS, _MOST_DIGITS = 7, 15  # E.164 ends at 15; the shortest local numbers here have 7
_PLAIN_DIGITS = 10  # arbitrary: with fewer and no separator, "+12345678" is as often a figure


def find(text: str, runs: Sequence[Span]) -> Iterator[Span]:
    """Yield the numbers that lie in runs of digits; they may overlap."""
    for run in runs:
        end = min(run.end + 12, len(text))  # an extension, and what must not follow
        for match in _INTERNATIONAL.finditer(text, run.start, end):
            if not match.group(1) or _is_international(match.group(1)):
                yield Span(*match.span())
        labelled = is_telephone(text, run.start)
        for match in _NATIONAL.finditer(text, run.start, end):
            first = labelled and match.start() == run.start
            if first or not is_reference(text, *match.span()):
                yield Span(*match.span())
        if labelled:
            yield from _labelled(text, run, end)


def _is_international(number: str) -> bool:
    """Tell a number after its + or 00 from a signed figure."""
    groups = re.split(r"[^0-9]+", number)
    digits = len("".join(groups))
    if len(groups) == 1:
        return _PLAIN_DIGITS <= digits <= _MOST_DIGITS
    if re.fullmatch(r"[0-9]+\.[0-9]+", number):
        return False
    thousands = all(len(group) == 3 for group in groups[1:])
    return digits <= _MOST_DIGITS and not (
        thousands and not re.fullmatch(_COUNTRY, groups[0]) and len(groups[0]) <= 3
    )


def _labelled(text: str, run: Span, end: int) -> Iterator[Span]:
    match = _LABELLED.match(text, run.start, end)
    if match and not _DATE.match(match.group()):
        digits = sum(map(str.isdigit, match.group()))
        if _FEWEST_DIGITS <= digits <= _MOST_DIGITS:
            yield Span(*match.span())
