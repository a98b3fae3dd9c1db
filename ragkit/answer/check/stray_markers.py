"""Remove the markers that name no source from a streamed answer."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ragkit.errors import IncompleteAnswerError
from ragkit.text.markers import MARKER, NOTE, NUMBERS, find_markers
from ragkit.types import Draft, Reasoning

_LONGEST = 256  # an open marker has at most 209 characters
_TOKEN = re.compile(rf"({MARKER.pattern})|([ \t]+)|[^ \t\[［【]+|.", re.DOTALL)
# An open marker at the end of a text.
_OPEN = re.compile(
    rf"[\[［【]\s{{0,2}}(?:{NUMBERS}(?:\s{{0,2}}(?:[,，、;；\-–]\s{{0,2}})?|\s{{0,2}}{NOTE}))?\Z"
)
_BRACKET = re.compile(r"[\[［【]")
_CLOSING = frozenset("\n.,;:!?)]}…，。；：！？、）】」』”’\"'")
_JSON = re.compile(r"\s*(?:\{|\[\s*[\"{])")
_UNDECIDED = re.compile(r"\s{0,20}(?:\[\s{0,20})?\Z")


def remove_stray_markers(
    pieces: Iterable[str | Reasoning | Draft], sources: int
) -> Iterator[str | Reasoning | Draft]:
    """Pass a generator's text through a `MarkerFilter`; the draft gets the text that was passed.

    >>> list(remove_stray_markers(["It is so [", "9", "]. Or so [1", ", 7]", "."], 2))
    ['It is so', '. Or so', ' [1]', '.']
    """
    marker_filter = MarkerFilter(sources)
    text: list[str] = []
    try:
        for piece in pieces:
            if isinstance(piece, Reasoning):
                yield piece
            elif isinstance(piece, Draft):
                text.append(marker_filter.end())
                if text[-1]:
                    yield text[-1]
                yield replace(piece, text="".join(text))
                return
            elif passed := marker_filter.take(piece):
                text.append(passed)
                yield passed
    except IncompleteAnswerError:
        if tail := marker_filter.end():
            yield tail
        raise
    if tail := marker_filter.end():
        yield tail


def is_json(text: str) -> bool:
    """Tell whether a text begins as a JSON object, or as an array of strings or objects."""
    return _JSON.match(text) is not None


class MarkerFilter:
    """Pass a text without the marked numbers that are not 1 to `sources`.

    A marker without a valid number is removed, with the blanks before it. A possible part of a
    marker is held back until it is complete: the pieces joined are the same however the text was
    cut. A text in JSON passes unchanged.
    """

    def __init__(self, sources: int) -> None:
        self._sources = sources
        self._json: bool | None = None  # undecided
        self._held = ""
        self._blanks = ""  # held back, as a stray marker may follow
        self._blanks_after: str | None = (
            None  # the blanks after a stray marker; None: there is none
        )
        self._last = ""

    def take(self, piece: str) -> str:
        """Return all text so far that can be passed on."""
        if self._is_plain(piece):
            self._last = (self._last + piece)[-_LONGEST:]
            return piece
        self._held += piece
        if self._json is None and _UNDECIDED.match(self._held):
            return ""
        self._json = is_json(self._held) if self._json is None else self._json
        if self._json:
            text, self._held = self._held, ""
            return text
        window = max(0, len(self._held) - _LONGEST)
        unfinished = _OPEN.search(self._held, window)
        cut = unfinished.start() if unfinished else len(self._held)
        complete, self._held = self._held[:cut], self._held[cut:]
        return self._pass(complete)

    def end(self) -> str:
        """Return the text that was held back, as nothing follows."""
        text = self._pass(self._held)
        return text + (self._blanks if self._blanks_after is None else "")

    def _is_plain(self, piece: str) -> bool:
        """Tell whether a piece passes as it is: no marker or blanks are held back or begin in it.

        Most pieces of an answer are such.
        """
        is_begun = self._json is False and not self._held
        is_open = self._blanks or self._blanks_after is not None or piece[-1:] in {"", " ", "\t"}
        return is_begun and not is_open and not _BRACKET.search(piece)

    def _pass(self, text: str) -> str:
        passed: list[str] = []
        for match in _TOKEN.finditer(text):
            token, marker, blanks = match[0], match[1], match[3]
            if blanks:
                self._hold_blanks(blanks)
                continue
            if marker:
                token = self._valid(marker) or ("…" if self._is_within_open() else "")
            if token:
                token = self._gap(token) + token
                self._last = (self._last + token)[-_LONGEST:]
                passed.append(token)
            else:
                self._blanks, self._blanks_after = self._blanks or self._blanks_after or "", ""
        return "".join(passed)

    def _hold_blanks(self, blanks: str) -> None:
        if self._blanks_after is None:
            self._blanks += blanks
        else:
            self._blanks_after += blanks

    def _valid(self, marker: str) -> str:
        """Return a marker with its valid numbers; unchanged if all are, "" if none is."""
        numbers = find_markers(marker)[0].numbers
        valid = [str(n) for n in numbers if 1 <= n <= self._sources]
        if len(valid) == len(numbers):
            return marker
        return f"{marker[0]}{', '.join(valid)}{marker[-1]}" if valid else ""

    def _is_within_open(self) -> bool:
        """Tell whether without this marker its surroundings would form a marker: [[9]8]."""
        return bool(_OPEN.search((self._last + self._blanks)[-_LONGEST:]))

    def _gap(self, token: str) -> str:
        """Return the blanks before a token, without those that a stray marker leaves doubled."""
        blanks, blanks_after = self._blanks, self._blanks_after
        self._blanks, self._blanks_after = "", None
        if blanks_after is None:
            return blanks
        if token[0] in _CLOSING or not self._last or self._last.endswith("\n"):
            return ""
        return blanks or blanks_after
