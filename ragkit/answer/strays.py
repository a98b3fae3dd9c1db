"""Take the markers that name no source out of an answer while it streams.

It knows how many sources there are, and nothing of what they say.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ragkit.answer.markers import MARKER, NOTE, NUMBERS, markers
from ragkit.errors import IncompleteAnswerError
from ragkit.types import Draft, Reasoning

_LONGEST = 256  # an open marker has at most 209 characters
_TOKEN = re.compile(rf"({MARKER.pattern})|([ \t]+)|[^ \t\[［【]+|.", re.DOTALL)
# What the end of a text may be the beginning of.
_OPEN = re.compile(
    rf"[\[［【]\s{{0,2}}(?:{NUMBERS}(?:\s{{0,2}}(?:[,，、;；\-–]\s{{0,2}})?|\s{{0,2}}{NOTE}))?\Z"
)
_CLOSING = frozenset("\n.,;:!?)]}…，。；：！？、）】」』”’\"'")
_JSON = re.compile(r"\s*(?:\{|\[\s*[\"{])")
_UNDECIDED = re.compile(r"\s{0,20}(?:\[\s{0,20})?\Z")


def without_strays(
    pieces: Iterable[str | Reasoning | Draft], sources: int
) -> Iterator[str | Reasoning | Draft]:
    """Pass a generator's text on through a `Sieve`; its draft has the text that was passed on.

    >>> list(without_strays(["It is so [", "9", "]. Or so [1", ", 7]", "."], 2))
    ['It is so', '. Or so', ' [1]', '.']
    """
    sieve = Sieve(sources)
    text: list[str] = []
    try:
        for piece in pieces:
            if isinstance(piece, Reasoning):
                yield piece
            elif isinstance(piece, Draft):
                text.append(sieve.end())
                if text[-1]:
                    yield text[-1]
                yield replace(piece, text="".join(text))
                return
            elif passed := sieve.take(piece):
                text.append(passed)
                yield passed
    except IncompleteAnswerError:
        if rest := sieve.end():
            yield rest
        raise
    if rest := sieve.end():
        yield rest


def is_json(text: str) -> bool:
    """Tell whether a text begins as a JSON object, or as an array of strings or objects."""
    return _JSON.match(text) is not None


class Sieve:
    """Let a text through without the marked numbers that are not 1 to `sources`.

    A marker that keeps no number is gone, with the blanks before it. What may be part of a marker
    is held back until it is known: the pieces joined are the same however the text was cut. A text
    in JSON passes as it is.
    """

    def __init__(self, sources: int) -> None:
        self._sources = sources
        self._json: bool | None = None  # not known yet
        self._held = ""
        self._blanks = ""  # not passed yet, as a stray marker may follow
        self._after: str | None = None  # the blanks after a stray; None: there was none
        self._last = ""

    def take(self, piece: str) -> str:
        """Return what can be passed on of all that was taken."""
        self._held += piece
        if self._json is None and _UNDECIDED.match(self._held):
            return ""
        self._json = is_json(self._held) if self._json is None else self._json
        if self._json:
            whole, self._held = self._held, ""
            return whole
        window = max(0, len(self._held) - _LONGEST)
        unfinished = _OPEN.search(self._held, window)
        cut = unfinished.start() if unfinished else len(self._held)
        complete, self._held = self._held[:cut], self._held[cut:]
        return self._pass(complete)

    def end(self) -> str:
        """Return what was held back, as nothing follows."""
        rest = self._pass(self._held)
        return rest + (self._blanks if self._after is None else "")

    def _pass(self, text: str) -> str:
        passed: list[str] = []
        for match in _TOKEN.finditer(text):
            token, marker, blanks = match[0], match[1], match[3]
            if blanks:
                self._keep(blanks)
                continue
            if marker:
                token = self._true(marker) or ("…" if self._is_within_open() else "")
            if token:
                token = self._gap(token) + token
                self._last = (self._last + token)[-_LONGEST:]
                passed.append(token)
            else:
                self._blanks, self._after = self._blanks or self._after or "", ""
        return "".join(passed)

    def _keep(self, blanks: str) -> None:
        if self._after is None:
            self._blanks += blanks
        else:
            self._after += blanks

    def _true(self, marker: str) -> str:
        """Write a marker anew with its true numbers; as it was, if all are, "" if none is."""
        numbers = markers(marker)[0].numbers
        true = [str(n) for n in numbers if 1 <= n <= self._sources]
        if len(true) == len(numbers):
            return marker
        return f"{marker[0]}{', '.join(true)}{marker[-1]}" if true else ""

    def _is_within_open(self) -> bool:
        """Tell whether without this marker its surroundings would become one: [[9]8]."""
        return bool(_OPEN.search((self._last + self._blanks)[-_LONGEST:]))

    def _gap(self, token: str) -> str:
        """Return the blanks before a token, which a stray marker may have left too many."""
        blanks, after = self._blanks, self._after
        self._blanks, self._after = "", None
        if after is None:
            return blanks
        if token[0] in _CLOSING or not self._last or self._last.endswith("\n"):
            return ""
        return blanks or after
