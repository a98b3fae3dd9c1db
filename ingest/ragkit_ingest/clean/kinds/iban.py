"""Find IBANs (ISO 13616): the country's length, and 1 as the remainder modulo 97."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ragkit.types import Span
from ragkit_ingest.clean.kinds.candidates import account_starts

# Lengths of the SWIFT IBAN registry.
_LENGTHS: Final = {
    country: int(length)
    for length, countries in {
        "15": "NO",
        "16": "BE",
        "18": "DK FO FI GL NL SD FK",
        "19": "MK SI",
        "20": "AT BA EE KZ XK LT LU MN",
        "21": "HR LV LI CH",
        "22": "BH BG CR GE DE IE ME RS GB VA",
        "23": "IL TL AE GI IQ OM SO",
        "24": "AD CZ MD PK RO SA SK ES SE TN VG",
        "25": "LY PT ST",
        "26": "IS TR",
        "27": "FR GR IT MR MC SM BI DJ",
        "28": "AL AZ BY CY DO SV GT HU LB PL NI",
        "29": "BR EG PS QA UA",
        "30": "JO KW MU YE",
        "31": "MT SC",
        "32": "LC",
        "33": "RU",
    }.items()
    for country in countries.split()
}


def find(text: str) -> Iterator[Span]:
    """Yield the account numbers, in one piece or in groups with a space or dash between them."""
    for start in account_starts(text):
        length = _LENGTHS.get(text[start : start + 2].upper())
        if length is None or (start and _is_plain(text[start - 1])):
            continue
        match = _shape(length).match(text, start)
        if match and is_valid(match.group().replace(" ", "").replace("-", "")):
            yield Span(*match.span())


@cache
def _shape(length: int) -> re.Pattern[str]:
    """Match so many letters and digits, single spaces or dashes between them, and no more."""
    return re.compile(rf"(?:[0-9A-Za-z][ -]?+){{{length - 1}}}[0-9A-Za-z](?![0-9A-Za-z])")


def _is_plain(char: str) -> bool:
    return char.isascii() and char.isalnum()


def is_valid(number: str) -> bool:
    """Tell whether the first four characters put last, letters being 10 to 35, leave 1 modulo 97.

    >>> is_valid("GB82WEST12345698765432"), is_valid("GB82WEST12345698765433")
    (True, False)
    """
    return int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1
