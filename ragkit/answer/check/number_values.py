"""The values of a sentence's numbers, written in digits or in words.

`ragkit.answer.check.numbers` reads digits and long Chinese numerals. Small numbers
in words count here as well: that is right for comparing sentences that otherwise say the same, and
wrong for a list of what no source contains, as "one" and 一 are part of too many words.
"""

import re

from ragkit.answer.check.numbers import find_numbers

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


def number_values(text: str) -> frozenset[str]:
    """Return the values of a text's numbers, in the form of `ragkit.answer.check.numbers`.

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
