"""Number formats of a workbook: dates, percentages, units, leading zeros.

The digits stay those that are stored: rounding and separators of thousands are for the eye.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit_ingest.parse.office.archive import attribute, children, number

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

# Built-in formats of dates, times and percentages (ECMA-376 part 1, 18.8.30).
_BUILTIN_DATES = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_BUILTIN_PERCENT = frozenset({9, 10})
_NOT_CODE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_DATE_CODE = re.compile(r"[dmyhs年月日]", re.IGNORECASE)
_DIGITS = re.compile(r"[0#?](?:[0#?,. /]*[0#?])?")
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|[_*].|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|([^"\\\[])', re.DOTALL)
_ZEROS = re.compile(r"0{2,20}$")
_MAX_CODE_CHARS = 255  # Excel's own limit
_SHOWN = re.compile(r"[$€£¥₹₽₩%]")


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What stands around a number, how many digits it has at least, whether it is a date."""

    prefix: str = ""
    suffix: str = ""
    digits: int = 0
    is_date: bool = False

    def format_value(self, value: float) -> str:
        """Write a number.

        >>> NumberFormat(suffix="%").format_value(0.125), NumberFormat(digits=5).format_value(42)
        ('12.5%', '00042')
        """
        if self.suffix == "%":
            value *= 100
        text = f"{value:.15g}"
        if self.digits and text.isdigit():
            text = text.zfill(self.digits)
        return f"{self.prefix}{text}{self.suffix}"


NUMBER: Final = NumberFormat()


def cell_formats(root: Element | None) -> list[NumberFormat]:
    """Read the formats that cells refer to by place."""
    codes = {
        number(attribute(item, "numFmtId")): (attribute(item, "formatCode") or "")
        for item in children(root, "numFmts")
    }
    by_id: dict[int, NumberFormat] = {}
    formats: list[NumberFormat] = []
    for item in children(root, "cellXfs"):
        form = number(attribute(item, "numFmtId"))
        if form not in by_id:
            code = codes.get(form)
            by_id[form] = _builtin(form) if code is None else _format(code[:_MAX_CODE_CHARS])
        formats.append(by_id[form])
    return formats


def _builtin(form: int) -> NumberFormat:
    return NumberFormat(
        suffix="%" if form in _BUILTIN_PERCENT else "", is_date=form in _BUILTIN_DATES
    )


def _format(code: str) -> NumberFormat:
    """Read a format's code, of which the first section is for positive numbers."""
    bare = _NOT_CODE.sub("", code.split(";", maxsplit=1)[0])
    if "General" not in bare and _DATE_CODE.search(bare):
        return NumberFormat(is_date=True)
    positive = _section(code)
    digits = _DIGITS.search(_blanked(positive))
    if digits is None:
        return NUMBER
    prefix = _literal(positive[: digits.start()])
    suffix = _literal(positive[digits.end() :])
    zeros = _ZEROS.match(digits.group())
    return NumberFormat(prefix, suffix, len(digits.group()) if zeros else 0)


def _section(code: str) -> str:
    """Take the first section; a semicolon in quotes ends none."""
    end = _blanked(code).find(";")
    return code if end < 0 else code[:end]


def _blanked(code: str) -> str:
    """Put spaces in the place of what is shown as it stands, so that offsets hold."""
    return _NOT_CODE.sub(lambda match: " " * len(match.group()), code)


def _literal(code: str) -> str:
    """Give what is shown as it stands: quoted words, currencies, the sign of percent."""
    parts: list[str] = []
    for quoted, escaped, currency, char in _TOKEN.findall(code):
        plain = char if char.isspace() or _SHOWN.match(char) else ""
        parts.append(quoted or escaped or currency or plain)
    return "".join(parts)
