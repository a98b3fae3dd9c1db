"""Find a text file's encoding and decode it, or refuse it as binary or as not sure.

Detectors that count byte pairs fail on short Chinese texts, so the candidates are decoded and the
reading with the most familiar characters wins. `scripts` does the same for other scripts.
"""

from __future__ import annotations

import codecs

from ragkit.errors import IngestError
from ragkit_ingest.parse import scripts
from ragkit_ingest.parse.chinese_score import familiarity

_SAMPLE_BYTES = 1 << 16  # an encoding shows early
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with UTF-16's own, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHINESE = ("gb18030", "big5hkscs", "utf-16-le", "utf-16-be")
_MAGIC = (
    b"%PDF-",
    b"PK\x03\x04",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x7fELF",
    b"\x1f\x8b\x08",
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b\x1a\x08")) + b"\x7f"
_NUL_SHARE = 0.2  # of the high bytes in UTF-16; half a text in ASCII letters has 0.5
_FAMILIAR = (
    0.2  # eight characters of a rare subject score 0.3; Western bytes misread as Chinese under 0
)
_LIKELY = frozenset({"cp1252", "latin_1", "iso8859_15", "cp850", "cp437", "cp858"})
_ESCAPED = b"\x1b$"  # where ISO 2022 goes over to two bytes a character
UNSURE = "a text in an encoding that cannot be told for certain: save it as UTF-8"
_DETECTABLE_BYTES = 64  # below that, charset-normalizer guesses
_DAMAGE = 0.1  # at most one bad byte in ten characters beyond ASCII: still UTF-8, but damaged


def decode(data: bytes) -> str:
    """Decode a text: by its byte order mark, as UTF-8, UTF-16, Chinese, or another.

    Raises IngestError for what is no text, or in an encoding that is not sure. A few damaged bytes
    become U+FFFD.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, "replace")
    if data.startswith(_MAGIC):
        raise IngestError("parse", "binary, not text")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if text and _ESCAPED in data[:_SAMPLE_BYTES]:
        return _escaped(data) or text
    if text and not _is_binary(data):
        return text
    return data.decode(detect(data), "replace")


def _escaped(data: bytes) -> str:
    """Decode Japanese or Korean that is written in ASCII with escapes; "" where it is not."""
    try:
        return data.decode("iso2022_kr" if _ESCAPED + b")C" in data else "iso2022_jp_2")
    except UnicodeDecodeError:
        return ""


def detect(data: bytes) -> str:
    """Name the encoding of bytes without a byte order mark.

    Raises IngestError for binary data, and where several encodings are as likely.
    """
    sample = data[:_SAMPLE_BYTES]
    wide = _wide(sample)
    if wide:
        return wide
    scores = {
        name: familiarity(text) for name in _CHINESE if (text := _reading(sample, name)) is not None
    }
    best = max(scores, key=lambda name: scores[name], default="")
    east, score = scripts.east_asian(sample)
    if east and score > scores.get(best, 0.0):
        return east
    if best and scores[best] >= _FAMILIAR:
        return best
    if _is_binary(sample):
        raise IngestError("parse", "binary, not text")
    if _is_damaged_utf8(sample):
        return "utf-8"
    is_other = scripts.has_other_letters(sample)
    name = scripts.alphabet(sample) if is_other else scripts.latin(sample, _western(sample))
    if not name:
        raise IngestError("parse", UNSURE)
    return name


def lookup(name: str) -> str | None:
    """Map a declared charset to the codec that reads it as browsers do; None if unknown.

    >>> lookup("GB2312"), lookup("ISO-8859-1"), lookup("klingon")
    ('gb18030', 'cp1252', None)
    """
    try:
        codec = codecs.lookup(name.strip())
    except (LookupError, ValueError):
        return None
    # A bytes-to-bytes codec such as "zip" is no charset, and would be a bomb of its own.
    if not codec._is_text_encoding or codec.name in {"idna", "punycode", "unicode_escape"}:
        return None
    supersets = {
        "gb2312": "gb18030",
        "gbk": "gb18030",
        "hz": "hz",
        "big5": "big5hkscs",
        "iso8859-1": "cp1252",
        "ascii": "cp1252",
    }
    return supersets.get(codec.name, codec.name)


def _wide(sample: bytes) -> str:
    """Tell UTF-16 by where its zero bytes stand; pure Chinese has none and is told by reading."""
    pairs = len(sample) // 2
    if not pairs or (len(sample) % 2 and len(sample) < _SAMPLE_BYTES):
        return ""
    even, odd = sample[0 : 2 * pairs : 2].count(0), sample[1 : 2 * pairs : 2].count(0)
    for name, zeros, letters in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros >= max(1, _NUL_SHARE * pairs) and letters <= zeros // 20:
            text = _reading(sample, name)
            if text is not None and not _controls(text.encode()):
                return name
    return ""


def _reading(sample: bytes, encoding: str) -> str | None:
    """Decode a sample, whose last character may be cut off; None when it is not that encoding."""
    if encoding.startswith("utf-16") and len(sample) % 2:
        return None
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        return decoder.decode(sample, final=len(sample) < _SAMPLE_BYTES)
    except UnicodeDecodeError:
        return None


def _is_binary(data: bytes) -> bool:
    """Say whether control characters are too many for a text with a few stray ones."""
    sample = data[:_SAMPLE_BYTES]
    return _controls(sample) > 2 + len(sample) // 100


def _controls(data: bytes) -> int:
    return len(data) - len(data.translate(None, _CONTROLS))


def _is_damaged_utf8(sample: bytes) -> bool:
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    beyond_ascii = sum(char > "\x7f" for char in text) - bad
    return bad <= _DAMAGE * beyond_ascii


def _western(sample: bytes) -> str:
    if len(sample) >= _DETECTABLE_BYTES:
        import charset_normalizer

        best = charset_normalizer.from_bytes(sample).best()
        if best is not None and best.encoding in _LIKELY:
            return str(best.encoding)
    try:
        sample.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"
