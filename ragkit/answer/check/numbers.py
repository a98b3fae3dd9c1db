"""Numbers in running text, English and Chinese, in a canonical form.

1,000, 1000, １０００ and 一千 are the same number; 3 million and 300万 too; 12% and 12 are not.
Units and dates are not considered.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

_EXPONENT = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_EXPONENT |= {"百": 2, "千": 3, "万": 4, "萬": 4, "亿": 8, "億": 8}
_CHINESE_DIGIT = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_CHINESE_UNIT = {"十": 10, "百": 100, "千": 1000}
_CHINESE_MYRIAD = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}

_NUMBER = re.compile(
    r"""
    (?P<of_hundred>百分之\s?)?
    (?: (?P<integer>\d{1,3}(?:[,，]\d{3}){1,12}(?!\d)|\d+) (?:[.．](?P<fraction>\d+))?
        (?P<scale>\s?(?:thousand|million|billion|trillion)\b
            |\s?(?:百(?!分)|[千万萬亿億]){1,4}(?![克米瓦卡伏赫帕焦字]))?   # 3 千克 are kilograms
      # Two characters at least: 一 and 十 alone are parts of too many words.
      | (?P<chinese>[零〇一二两兩三四五六七八九十][零〇一二两兩三四五六七八九十百千万萬亿億]{1,30}
        |(?<=百分之)[零〇一二两兩三四五六七八九十百])
    )
    (?P<percent>\s?(?:[%％]|percent\b|per\ cent\b)
        |(?=\s?[-–~～至到]\s?[\d.]{1,12}\s?[%％]))?   # both ends of 10-15% are percentages
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BARE_PERCENT = re.compile(r"(?<!\d)(?<!\d\s)[%％]")  # as in a table's heading

# Small numbers in words count where sentences are compared that otherwise say the same. In a list
# of what no source contains they would be wrong: "one" and 一 are part of too many words.
_ENGLISH: dict[str, int] = dict(
    zip(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
        " sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
        " hundred".split(),
        (*range(2, 20), *range(20, 101, 10)),
        strict=True,
    )
)
_UNITS = ("one", *list(_ENGLISH)[:8])
_WORDS = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(w for w, v in _ENGLISH.items() if 20 <= v < 100)})"
    rf"(?:[ -](?P<units>{'|'.join(_UNITS)}))?|(?P<word>{'|'.join(_ENGLISH)}))\b",
    re.IGNORECASE,
)
_DIGITS: dict[str, int] = dict(zip("二三四五六七八九十两兩", (*range(2, 11), 2, 2), strict=True))
# One Chinese numeral is a number before what is counted: 三个, but not 三明治.
_COUNTED = re.compile(
    "(?<![一二三四五六七八九十百千万萬亿億两兩第每])([二三四五六七八九十两兩])"
    "(?=(成)|[个個名人年月日天次元岁歲号號台臺座层層位条條种種倍点點时時杯隻只件部本份张張"
    "週周幢楼樓分小票包步期颗顆顶頂])"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number at `text[start:end]`; `value` is canonical."""

    start: int
    end: int
    value: str
    percent: bool


@dataclass(frozen=True, slots=True)
class NumberSet:
    """The numbers of a source."""

    values: frozenset[str]
    percentages: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "NumberSet":
        """Collect the numbers of some texts; under a bare "%" any number may be a percentage."""
        values: set[str] = set()
        percentages: set[str] = set()
        for text in texts:
            matches = find_numbers(text)
            values.update(number.value for number in matches)
            bare = _BARE_PERCENT.search(text) is not None
            percentages.update(number.value for number in matches if bare or number.percent)
        return cls(frozenset(values), frozenset(percentages))

    def __contains__(self, number: Number) -> bool:
        return number.value in (self.percentages if number.percent else self.values)


def find_numbers(text: str) -> list[Number]:
    """Find the numbers of a text, in order.

    >>> [(n.value, n.percent) for n in find_numbers("1,000.50 of ３ million, 百分之十二, 12%")]
    [('10005e-1', False), ('3e6', False), ('12e0', True), ('12e0', True)]
    """
    hits: list[Number] = []
    for match in _NUMBER.finditer(text):
        value = _chinese(match["chinese"]) if match["chinese"] else _arabic(match)
        if value:
            percent = match["percent"] is not None or match["of_hundred"] is not None
            hits.append(Number(match.start(), match.end(), value, percent))
    return hits


def _arabic(match: re.Match[str]) -> str:
    scale = (match["scale"] or "").strip().lower()
    exponent = _EXPONENT.get(scale) or sum(_EXPONENT[character] for character in scale)
    fraction = match["fraction"] or ""
    return _canonical(match["integer"] + fraction, exponent - len(fraction))


def _chinese(run: str) -> str:
    """Read a Chinese numeral; without units it must be one digit, or positional as 二〇二四 is."""
    if not set(run) & (_CHINESE_UNIT.keys() | _CHINESE_MYRIAD.keys()):
        positional = (len(run) == 4 and not set(run) & {"两", "兩"}) or set(run) & {"〇", "零"}
        if len(run) > 1 and not positional:
            return ""
        return _canonical("".join(str(_CHINESE_DIGIT[character]) for character in run), 0)
    total = section = digit = 0
    for character in run:
        if character in _CHINESE_DIGIT:
            digit = _CHINESE_DIGIT[character]
        elif character in _CHINESE_UNIT:
            section, digit = section + (digit or 1) * _CHINESE_UNIT[character], 0
        else:
            myriad = _CHINESE_MYRIAD[character]
            high, low = (total, 0) if myriad == 10**8 else (0, total)
            total, section, digit = (high + section + digit) * myriad + low, 0, 0
    return _canonical(str(total + section + digit), 0)


def _canonical(digits: str, exponent: int) -> str:
    """Write a value as mantissa and exponent without rounding, however long it is."""
    plain = "".join(str(unicodedata.decimal(c)) for c in digits if c not in ",，").lstrip("0")
    mantissa = plain.rstrip("0")
    return f"{mantissa}e{exponent + len(plain) - len(mantissa)}" if mantissa else "0"


def number_values(text: str) -> frozenset[str]:
    """Return the values of a text's numbers, written in digits or in words.

    >>> sorted(number_values("Twenty-five of 1,000 people, 三个人, 六成"))
    ['1e3', '25e0', '3e0', '6e1']
    """
    written = {number.value for number in find_numbers(text)}
    worded = [_of_words(match) for match in _WORDS.finditer(text)]
    worded += [
        _DIGITS[match[1]] * (10 if match[2] else 1)  # 六成 is 60%
        for match in _COUNTED.finditer(text)
    ]
    return frozenset(written.union(find_numbers(str(value))[0].value for value in worded))


def _of_words(match: re.Match[str]) -> int:
    if match["word"]:
        return _ENGLISH[match["word"].casefold()]
    units: str | None = match["units"]
    return _ENGLISH[match["tens"].casefold()] + (1 + _UNITS.index(units.casefold()) if units else 0)
