"""Labels of numbered paragraphs in Word documents."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit_ingest.parse.office.archive import attribute, child, local, number

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_PLACE = re.compile(r"%([1-9])")
_ROMAN = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        "M CM D CD C XC L XL X IX V IV I".split(),
        strict=True,
    )
)
_DIGITS = "零一二三四五六七八九"
_MAX_ROMAN = 3999


@dataclass(frozen=True, slots=True)
class _Level:
    format: str
    label: str
    start: int


class Numbering:
    """The lists of one document, counting as their paragraphs come by."""

    def __init__(self, root: Element | None) -> None:
        self._levels: dict[str, dict[int, _Level]] = {}
        self._abstract: dict[str, str] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        for item in root if root is not None else ():
            if local(item) == "abstractNum":
                self._levels[attribute(item, "abstractNumId") or ""] = _levels(item)
            elif local(item) == "num":
                self._read_num(item)

    def label(self, num_id: str, level: int) -> str | None:
        """Count one paragraph and give its label: "2.1", "(a)", "第三章", or "-" for a bullet.

        None when the list does not exist, "" when the level shows nothing.
        """
        abstract = self._abstract.get(num_id, "")
        levels = self._levels.get(abstract, {})
        current = levels.get(level)
        if current is None:
            return None
        if current.format == "bullet":
            return "-"
        counts = self._counts.setdefault(abstract, {})
        for depth, start in self._restarts.pop(num_id, {}).items():
            counts[depth] = start - 1
        counts[level] = counts.get(level, current.start - 1) + 1
        for deeper in [depth for depth in counts if depth > level]:
            del counts[deeper]
        if current.format == "none":
            return ""

        def place(match: re.Match[str]) -> str:
            depth = int(match.group(1)) - 1
            defined = levels.get(depth, current)
            return _write(counts.get(depth, defined.start), defined.format)

        return _PLACE.sub(place, current.label).strip()

    def _read_num(self, item: Element) -> None:
        num_id = attribute(item, "numId") or ""
        self._abstract[num_id] = attribute(child(item, "abstractNumId"), "val") or ""
        starts = {
            number(attribute(override, "ilvl")): number(attribute(start, "val"), 1)
            for override in item
            if (start := child(override, "startOverride")) is not None
        }
        if starts:
            self._restarts[num_id] = starts


def _levels(abstract: Element) -> dict[int, _Level]:
    return {
        number(attribute(level, "ilvl")): _Level(
            attribute(child(level, "numFmt"), "val") or "decimal",
            attribute(child(level, "lvlText"), "val") or "",
            number(attribute(child(level, "start"), "val"), 1),
        )
        for level in abstract
        if local(level) == "lvl"
    }


def _write(count: int, form: str) -> str:
    writer = _FORMATS.get(form)
    return writer(count) if writer and count > 0 else str(count)


def _roman(count: int) -> str:
    if count > _MAX_ROMAN:
        return str(count)
    text = ""
    for value, letters in _ROMAN:
        times, count = divmod(count, value)
        text += letters * times
    return text


def _letters(count: int) -> str:
    """Word goes on after z with aa, bb, cc."""
    times, index = divmod(count - 1, 26)
    return chr(ord("A") + index) * min(times + 1, 9)


def _chinese(count: int) -> str:
    """Write a number below a hundred as Chinese does, larger ones digit by digit."""
    if count >= 100:
        return "".join(_DIGITS[int(digit)] for digit in str(count))
    tens, ones = divmod(count, 10)
    lead = ("" if tens == 1 else _DIGITS[tens]) + "十" if tens else ""
    return lead + (_DIGITS[ones] if ones else "")


_FORMATS: dict[str, Callable[[int], str]] = {
    "upperRoman": _roman,
    "lowerRoman": lambda count: _roman(count).lower(),
    "upperLetter": _letters,
    "lowerLetter": lambda count: _letters(count).lower(),
    "decimalZero": lambda count: f"{count:02}",
    "chineseCounting": _chinese,
    "chineseCountingThousand": _chinese,
    "ideographDigital": _chinese,
    "japaneseCounting": _chinese,
    "taiwaneseCountingThousand": _chinese,
    "decimalEnclosedCircle": lambda count: chr(0x245F + count) if count <= 20 else str(count),
}
