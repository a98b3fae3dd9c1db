"""Tell encodings of other scripts than Chinese: by the letters that are common in each of them.

A reading in the wrong encoding has other letters, or letters where no word has them.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_SISTERS: Final = {"koi8-r", "koi8-u"}  # which differ in four letters
_KANA: Final = frozenset(map(chr, [*range(0x3041, 0x3097), *range(0x30A1, 0x30F7)])) | set("ー、。")
# The syllables that are about two thirds of running Korean, in no particular order.
_KOREAN: Final = frozenset(
    "이다는의에을를가고하은로지한사기어대서인나아도자있시리그것해들일수과만정보주부전구제상으와장게공동"
    "되성조세며연안위면라원관여문소당경방비신무적했모러개오마후중거까용학국치생행실업화체회분반발요야니"
    "스트던산간명질형물번식력때없였같및등각내결계급입청확설품직께님합습"
)
_EAST: Final = (("cp949", _KOREAN), ("euc_jp", _KANA), ("cp932", _KANA))
_ALPHABETS: Final = (
    (("cp1251", "koi8-r", "koi8-u", "cp866", "iso8859-5"), frozenset("оеаинтсрвлкдмі")),
    (("cp1253", "iso8859-7"), frozenset("αοιετσνηυρπκμλςίόάέή")),
    (("cp1255",), frozenset("יוהלאמרתבשנדקחםפכ")),
    (("cp1256", "iso8859-6"), frozenset("اليمنوترهبدعةق")),
    (("cp874",), frozenset("านรอกเงมยลวดทสต่้ัีะ")),
)
# The letters beyond ASCII of languages in Latin script, and the encodings that have them.
_WEST: Final = tuple(
    map(
        frozenset,
        (
            *("àâæçéèêëîïôœùûüÿ", "äöüßé", "áéíñóúüºª", "áâãàçéêíóôõúüºª", "àèéìíîòóùú"),
            *("åäöéæøüàó", "áéíóúýæðöþ", "àçèéíïòóúü", "éëïóöüèêáí"),
        ),
    )
)
_CENTRAL: Final = tuple(
    map(
        frozenset,
        (
            *("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîșțşţ"),
            *("čćđšž", "äöüß"),
        ),
    )
)
_TURKISH: Final = (frozenset("çğıöşüâîû") | {"\u0307"},)  # the last is of a small İ
_BALTIC: Final = tuple(map(frozenset, ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž")))
_LATIN: Final = (
    *(("cp1252", _WEST), ("cp1250", _CENTRAL), ("iso8859-2", _CENTRAL), ("cp1254", _TURKISH)),
    *(("cp1257", _BALTIC), ("mac_roman", _WEST), ("cp850", _WEST), ("cp852", _CENTRAL)),
)
_SIGNS: Final = frozenset("§«»–—„”“’‘…°€£©®™·•¿¡\xa0\xad×½¼²³µ")
# Between letters only letters stand, and these marks.
_WITHIN: Final = re.compile(r"[^\W\d_][^\x00-\x7f](?=[^\W\d_])")
_MARKS: Final = frozenset("’‘–—…·\xad®™°ªº")
_SURE: Final = 0.5  # all of these are measured on short texts, see the tests
_APART: Final = 0.12
_EAST_SURE: Final = 0.3
_FEW: Final = 8  # bytes beyond ASCII; fewer tell nothing
_ODD: Final = 0.15
_STRANGE: Final = 0.05


def east_asian(sample: bytes) -> tuple[str, float]:
    """Name the Japanese or Korean encoding that a sample is in, with a score up to 1; or ""."""
    best, best_score = "", 0.0
    for name, common in _EAST:
        text = _reading(sample, name)
        score = _share(text, common) if text else 0.0
        if score > best_score:
            best, best_score = name, score
    return (best, best_score) if best_score >= _EAST_SURE else ("", 0.0)


def has_other_letters(sample: bytes) -> bool:
    """Say whether most letters of a sample are beyond ASCII, as in no language of Latin script."""
    high = len(sample) - len(sample.translate(None, bytes(range(0x80, 0x100))))
    ascii_letters = sum(map(sample.count, map(bytes, zip(_ASCII_LETTERS))))
    return high >= _FEW and high > ascii_letters


_ASCII_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def alphabet(sample: bytes) -> str:
    """Name the encoding of a text in Cyrillic, Greek, Hebrew, Arabic or Thai; "" if not sure."""
    readings: dict[str, tuple[float, str]] = {}  # the first name of equal readings
    for names, common in _ALPHABETS:
        for name in names:
            text = _reading(sample, name)
            if text and text not in readings:
                readings[text] = (_share(text, common), name)
    ranked = sorted(readings.values(), reverse=True)
    if not ranked or ranked[0][0] < _SURE:
        return ""
    top, best = ranked[0]
    scores = (score for score, name in ranked if name != best and {name, best} != _SISTERS)
    return best if top - next(scores, 0.0) >= _APART else ""


def latin(sample: bytes, name: str) -> str:
    """Return the encoding of a text in Latin script, `name` if nothing speaks against it.

    "" where it is none that is known for certain.
    """
    text = sample.decode(name, "replace")
    usual, high = _strangeness(text, _WEST), _count_high(text)
    if usual < _STRANGE:
        return name
    readings: dict[str, tuple[float, str]] = {}  # the first name of equal readings
    for codec, languages in _LATIN:
        reading = _reading(sample, codec)
        if reading and reading not in readings:
            readings[reading] = (_strangeness(reading, languages), codec)
    ranked = sorted(readings.values())
    best, second = (score for score, _ in (*ranked, (1.0, ""), (1.0, ""))[:2])
    if best < _STRANGE and second - best > 0.9 / high:  # a character, or more, tells them apart
        return ranked[0][1]
    is_doubtful = usual > 2 * _ODD and best < usual / 2
    return "" if is_doubtful or _oddities(text) >= max(2, _ODD * high) else name


def _strangeness(text: str, languages: Sequence[frozenset[str]]) -> float:
    """Return the share of characters beyond ASCII that none of the languages has for itself."""
    high = _count_high(text)
    letters = [char for char in text.lower() if char > "\x7f" and char not in _SIGNS]
    unusual = min(sum(char not in language for char in letters) for language in languages)
    return (_oddities(text) + unusual) / high if high else 0.0


def _count_high(text: str) -> int:
    return sum(char > "\x7f" for char in text)


def _oddities(text: str) -> int:
    """Count signs within words, and capitals between small letters."""
    odd = 0
    for match in _WITHIN.finditer(text):
        before, char = match[0][0], match[0][1]
        after = text[match.end()]
        is_capital = char.isupper() and before.islower() and after.islower()
        odd += is_capital or not (char.isalpha() or char in _MARKS)
    return odd


def _share(text: str, common: frozenset[str]) -> float:
    """Return the share of common letters among what is beyond ASCII, less what words never have."""
    counted = [char for char in text if char > "\x7f" and not char.isspace()]
    if len(counted) < _FEW // 2:
        return 0.0
    breaks = sum(a.islower() and b.isupper() for a, b in pairwise(text))
    return (sum(char.lower() in common for char in counted) - breaks) / len(counted)


def _reading(sample: bytes, encoding: str) -> str:
    """Decode a sample, whose last character may be cut off; "" when it is not that encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample, final=False)
    except UnicodeDecodeError:
        return ""
