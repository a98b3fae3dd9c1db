"""Find payment cards: a known issuer's prefix and length, and a valid Luhn sum."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ragkit.types import Span
from ragkit_ingest.clean.kinds.context import is_reference

# ISO/IEC 7812 issuers' ranges as the networks publish them, and the lengths in use today.
_ISSUERS: Final = (
    (re.compile(r"4"), (16,)),  # Visa; its longest are too rare to be told from other numbers
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),  # Mastercard
    (re.compile(r"3[47]"), (15,)),  # American Express
    (re.compile(r"6011|64[4-9]|65"), (16, 19)),  # Discover
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 19)),  # JCB
    (re.compile(r"30[0-5]|36|38|39"), (14, 16, 19)),  # Diners Club
    (re.compile(r"62|81"), (16, 17, 18, 19)),  # UnionPay
    (re.compile(r"9558"), (16, 19)),  # ICBC, older than UnionPay's range
    (re.compile(r"50|5[6-8]|60|63|67"), (16, 18, 19)),  # Maestro, RuPay
    (re.compile(r"220[0-4]"), (16, 19)),  # Mir
)
_PLAIN = re.compile(r"(?<![0-9A-Za-z_])(?<![0-9][.])[0-9]{14,19}(?![0-9A-Za-z_])(?!\.[0-9])")
# As printed on the card; another group of four on either side makes it a table of numbers.
_GROUPED = re.compile(
    r"(?<![0-9A-Za-z_])(?<![0-9]{4}[ -])(?:"
    r"[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1([0-9]{1,3}))?+(?![0-9]|\1[0-9]{4}(?![0-9]))"
    r"|[0-9]{4}([ -])[0-9]{6}\3[0-9]{4,5}(?![0-9])"
    r"|[0-9]{6}[ -][0-9]{10,13}(?![0-9]))(?![A-Za-z_])"
)


def find(text: str, runs: Sequence[Span]) -> Iterator[Span]:
    """Yield the card numbers that lie in runs of digits."""
    for run in runs:
        if run.end - run.start < 14:
            continue
        end = min(run.end + 2, len(text))  # what follows decides whether the number ends there
        for match in _PLAIN.finditer(text, run.start, end):
            if is_valid(match.group()) and not is_reference(text, *match.span()):
                yield Span(*match.span())
        for match in _GROUPED.finditer(text, run.start, end):
            yield from _grouped(match)


def _grouped(match: re.Match[str]) -> Iterator[Span]:
    """Yield the number; three digits after 16 are its last, or belong to something else."""
    if is_valid(_digits(match.group())):
        yield Span(*match.span())
    elif match.group(2):
        end = match.start(2) - 1
        if is_valid(_digits(match.string[match.start() : end])):
            yield Span(match.start(), end)


def _digits(text: str) -> str:
    return text.replace(" ", "").replace("-", "")


def is_valid(number: str) -> bool:
    """Tell whether digits have an issuer's prefix, its length, and a Luhn sum that ends in 0.

    Luhn: from the right, every second digit doubled, less 9 where that has two digits.

    >>> is_valid("4111111111111111"), is_valid("4111111111111112")
    (True, False)
    """
    if not any(len(number) in sizes and prefix.match(number) for prefix, sizes in _ISSUERS):
        return False
    odd = sum(map(int, number[-1::-2]))
    even = sum((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)[int(digit)] for digit in number[-2::-2])
    return (odd + even) % 10 == 0
