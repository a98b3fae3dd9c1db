"""Find Chinese resident identity numbers (GB 11643-1999): region, birth date, order, check digit.

The 15 digits of cards made before 1999 have no check digit: they count only where the text says
what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

from ragkit.types import Span

# GB/T 2260; 9 leads the numbers of foreign permanent residents (since 2017).
_REGION = r"(?:1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]|9[0-9])"
_NEW = re.compile(
    rf"(?<![0-9A-Za-z])({_REGION}[0-9]{{4}})([ -]?)((?:18|19|20)[0-9]{{6}})\2([0-9]{{3}}[0-9Xx])"
    r"(?![0-9A-Za-z])"
)
_OLD = re.compile(rf"(?<![0-9A-Za-z]){_REGION}[0-9]{{4}}([0-9]{{6}})[0-9]{{3}}(?![0-9A-Za-z])")
_SAYS_SO = re.compile(r"(?i)(?:身份证|身份證|证件号|證件號|id card|identity card)[^\n0-9]{0,12}\Z")
_REACH_CHARS = 30
_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)  # 2**(17 - i) mod 11
_CHECKS: Final = "10X98765432"


def find(text: str, runs: Sequence[Span]) -> Iterator[Span]:
    """Yield the identity numbers that lie in runs of digits (an X may follow the run)."""
    for run in runs:
        if run.end - run.start < 15:
            continue
        for match in _NEW.finditer(text, run.start, min(run.end + 2, len(text))):
            if is_valid("".join(match.group(1, 3, 4))):
                yield Span(*match.span())
        for match in _OLD.finditer(text, run.start, min(run.end + 1, len(text))):
            label = _SAYS_SO.search(text[max(0, match.start() - _REACH_CHARS) : match.start()])
            if label and _is_date("19" + match.group(1)):
                yield Span(*match.span())


def is_valid(number: str) -> bool:
    """Tell whether 18 characters have a real birth date and their check digit.

    ISO 7064 MOD 11-2: the sum of digit times 2**(17 - i) modulo 11, looked up.

    >>> is_valid("11010519491231002X"), is_valid("110105194912310021")
    (True, False)
    """
    total = sum(int(digit) * weight for digit, weight in zip(number, _WEIGHTS, strict=False))
    return _CHECKS[total % 11] == number[17].upper() and _is_date(number[6:14])


def _is_date(digits: str) -> bool:
    try:
        date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return False
    return True
