"""Make a text's characters uniform: NFC, or NFKC as far as it does no harm; what is unseen goes.

Only the stretches that change are edited.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, Literal

from ragkit.types import ParsedText
from ragkit_ingest.clean.edits import Edit, edited, replaced

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Form = Literal["nfc", "nfkc", "none"]

INVISIBLE: Final = "invisible characters"  # what the notes call them

# Always removed: soft hyphen, zero-width space, word joiner with the invisible operators of
# formulas, byte order mark; embeddings, overrides and isolates of direction, which can make a text
# read as another (CVE-2021-42574); tag characters, in which text is hidden from people and shown to
# a model, as it is in variation selectors after another.
# Joiners and direction marks are removed between two letters or digits that join to nothing, Latin
# or Han. Elsewhere Persian, Indic scripts, Hebrew and emoji need them.
_ALWAYS = "\u00ad\u200b\u2060-\u2064\ufeff\u202a-\u202e\u2066-\u206f\U000e0000-\U000e007f"
_JOINERS = "\u200c-\u200f\u061c"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_UNSEEN = re.compile(f"[{_ALWAYS}{_JOINERS}{_SELECTORS}]++")
_ALWAYS_REMOVED = re.compile(f"[{_ALWAYS}]++")
_LATER_SELECTORS = re.compile(f"(?<=[{_SELECTORS}])[{_SELECTORS}]++")
_JOINERS_ONLY = re.compile(f"[{_JOINERS}]*")
_ASCII = bytes(range(128))
_PLAIN = re.compile(r"[0-9A-Za-z\u00c0-\u024f\u3400-\u4dbf\u4e00-\u9fff]")
# Characters that can change or join the one before them are below, bar the Ideographic planes.
_LAST_CHANGING = 0x20000
_COMPATIBILITY_IDEOGRAPHS = range(0x2F800, 0x2FA20)
_JAMO = range(0x1160, 0x1200)  # vowels and finals of Hangul, composed by rule and in no table
_SLICE_CHARS = 1 << 20  # looked through together; bounds memory
_REMEMBERED_CHARS = 4  # a letter with its marks
# Real text has at most 30 marks on one character (UAX #15, stream-safe text); putting them in order
# takes time with the square of their number.
_MAX_MARKS = 30
# Folding these changes what is said: m² is not m2, 1½ not 11⁄2, and ① leads an item.
_MEANING: Final = frozenset({"<super>", "<sub>", "<fraction>", "<circle>"})


def normalised(parsed: ParsedText, form: Form) -> ParsedText:
    """Return the text, its title, metadata and page labels in a form; "none" changes nothing.

    `notes` tell how many invisible characters were removed from the text itself.
    """
    if form == "none":
        return parsed
    if not parsed.text.isascii():
        gone = _unseen(parsed.text)
        if gone:
            count = sum(edit.end - edit.start - len(edit.text) for edit in gone)
            parsed = edited(parsed, gone)
            parsed = replace(parsed, notes={**parsed.notes, INVISIBLE: count})
        parsed = edited(parsed, list(_changes(parsed.text, form)))
    return replace(
        parsed,
        title=uniform(parsed.title, form),
        metadata={uniform(k, form): uniform(v, form) for k, v in parsed.metadata.items()},
        pages=tuple(
            page if page.label.isascii() else replace(page, label=uniform(page.label, form))
            for page in parsed.pages
        ),
    )


def uniform(text: str, form: Form) -> str:
    r"""Return a text in a form, without invisible characters.

    >>> uniform("e\u0301 so\xadft", "nfc"), uniform("Ｎｏ．１２ ﬁne m²", "nfkc")
    ('é soft', 'No．12 fine m²')
    """
    if form == "none" or text.isascii():
        return text
    text = replaced(text, _unseen(text))
    return replaced(text, _changes(text, form))


def _unseen(text: str) -> list[Edit]:
    """List the edits that remove what is not seen."""
    if _UNSEEN.search(_beyond_ascii(text)) is None:
        return []
    edits = []
    for match in _UNSEEN.finditer(text):
        run = match.group()
        visible = _LATER_SELECTORS.sub("", _ALWAYS_REMOVED.sub("", run))
        previous, following = (
            text[max(0, match.start() - 1) : match.start()],
            text[match.end() : match.end() + 1],
        )
        if _JOINERS_ONLY.fullmatch(visible) and _PLAIN.match(previous) and _PLAIN.match(following):
            visible = ""
        if visible != run:
            edits.append(Edit(*match.span(), visible))
    return edits


def _beyond_ascii(text: str) -> str:
    """Return what is left of a text without ASCII's characters: looked through sooner than all."""
    data = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return data.decode("utf-8", "surrogatepass")


def _changes(text: str, form: Form) -> Iterator[Edit]:
    standard: Literal["NFC", "NFKC"] = "NFC" if form == "nfc" else "NFKC"
    if unicodedata.is_normalized(standard, text):
        return
    for start, end in _runs(text, _changing(standard)):
        # What can change may join the character before it; a line end joins nothing.
        first = start - bool(start and text[start - 1] != "\n")
        original = text[first:end]
        short = len(original) <= _REMEMBERED_CHARS
        rewritten = _remembered(original, form) if short else _rewritten(original, form)
        if rewritten != original:
            yield Edit(first, end, rewritten)


@lru_cache(maxsize=1 << 14)  # arbitrary; a language's accented letters are few
def _remembered(stretch: str, form: Form) -> str:
    return _rewritten(stretch, form)


def _rewritten(stretch: str, form: Form) -> str:
    """Return a stretch in a form; one with too many marks stays, as does what NFKC would harm."""
    if len(stretch) > _MAX_MARKS and _too_many_marks().search(stretch):
        return stretch
    if form == "nfkc":
        pieces = re.split(f"([{_harmed_class()}])", stretch)
        stretch = "".join(
            piece if _harmed(piece) else unicodedata.normalize("NFKC", piece) for piece in pieces
        )
    return unicodedata.normalize("NFC", stretch)


def _runs(text: str, among: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """List the stretches of characters that a table has, in order; numpy, as most have none."""
    import numpy as np

    spans: list[tuple[int, int]] = []
    for offset in range(0, len(text), _SLICE_CHARS):
        data = text[offset : offset + _SLICE_CHARS].encode("utf-32-le", "surrogatepass")
        at = np.flatnonzero(among[np.minimum(np.frombuffer(data, "<u4"), len(among) - 1)])
        if not len(at):
            continue
        parts = np.flatnonzero(np.diff(at) > 1)
        first = at[np.concatenate(([0], parts + 1))] + offset
        stops = at[np.concatenate((parts, [len(at) - 1]))] + offset + 1
        runs = zip(first.tolist(), stops.tolist(), strict=True)
        if spans and spans[-1][1] == first[0]:  # it goes on over the slice's end
            spans[-1] = (spans[-1][0], next(runs)[1])
        spans += runs
    return spans


@cache
def _changing(form: Literal["NFC", "NFKC"]) -> NDArray[np.bool_]:
    """Make a table of the characters that a form changes or joins to the one before."""
    import numpy as np

    joining = _joining()
    changing = [
        ord(char)
        for char in _characters()
        if char in joining
        or unicodedata.combining(char)
        or not unicodedata.is_normalized(form, char)
    ]
    table = np.zeros(_COMPATIBILITY_IDEOGRAPHS.stop + 1, np.bool_)  # the last is for all above
    table[changing] = True
    return table


@cache
def _too_many_marks() -> re.Pattern[str]:
    marks = _class([char for char in _characters() if unicodedata.combining(char)])
    return re.compile(f"[{marks}]{{{_MAX_MARKS + 1}}}")


@cache
def _joining() -> frozenset[str]:
    """Collect what can be the second part of a composed character."""
    joiners = {chr(code) for code in _JAMO}
    for char in _characters():
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            joiners.add(chr(int(parts[1], 16)))
    return frozenset(joiners)


@cache
def _harmed_class() -> str:
    return _class([char for char in _characters() if _harmed(char)])


def _harmed(char: str) -> bool:
    """Tell whether folding a character would change what is said, or how the text is read.

    Besides what carries meaning: punctuation that would become ASCII's (a full-width ｜ would end a
    table's cell, ， belongs to Chinese sentences) and accents that would get a space of their own.
    """
    if len(char) != 1 or unicodedata.is_normalized("NFKC", char):
        return False
    if unicodedata.decomposition(char).partition(" ")[0] in _MEANING:
        return True
    folded = unicodedata.normalize("NFKC", char)
    if len(folded) == 1:
        return folded.isascii() and not folded.isalnum() and folded != " "
    return folded[0] == " " or bool({*folded} & {*"|`\\\n"})


@cache
def _characters() -> tuple[str, ...]:
    codes = [*range(0x80, 0xD800), *range(0xE000, _LAST_CHANGING), *_COMPATIBILITY_IDEOGRAPHS]
    return tuple(map(chr, codes))


def _class(characters: Sequence[str]) -> str:
    """Write ascending characters as ranges, as they stand between [ and ]."""
    ranges: list[list[str]] = []
    for char in characters:
        if ranges and ord(char) == ord(ranges[-1][1]) + 1:
            ranges[-1][1] = char
        else:
            ranges.append([char, char])
    return "".join(f"{first}-{last}" for first, last in ranges)
