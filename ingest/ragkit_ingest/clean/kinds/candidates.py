"""Find spans of a text that could be a number or a key of a program.

One pass each, by numpy, since nearly all text holds none: what is found is looked at closely by
others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Final

from ragkit.types import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Look = Callable[[NDArray[np.uint8]], Iterator[tuple[int, int]]]

# Seven digits are the shortest telephone number. Up to three separators stand between two digits.
_FEWEST_DIGITS: Final = 7
_WIDEST_GAP: Final = 3
_RUN = re.compile(
    rf"[+(（]{{0,2}}[0-9](?:[-. /()（）·]{{0,{_WIDEST_GAP}}}[0-9]){{{_FEWEST_DIGITS - 1},}}+"
)
# So much is looked at together, which bounds memory, and so much of it again with what follows: a
# longer run is put together of its parts.
_SHORTEST_KEY: Final = 16  # characters; Slack's
_SLICE_CHARS = 1 << 20
_AGAIN_CHARS = 256


def runs(text: str) -> list[Span]:
    """List the runs of at least seven digits with few separators between them, in order."""
    return [
        Span(*match.span())
        for near in _near(text, _digits)
        # What leads a number stands before its first digit.
        for match in _RUN.finditer(text, max(0, near.start - 2), near.end)
    ]


def tokens(text: str) -> list[Span]:
    """List the runs of letters, digits and _ - . / + = that are long enough to be a key."""
    return _near(text, _words)


def account_starts(text: str) -> list[int]:
    """List where two ASCII letters stand before two digits, as an IBAN begins."""
    return [span.start for span in _near(text, _letters_and_digits)]


def _near(text: str, look: Look) -> list[Span]:
    """List what a look at each slice finds; what two slices have parts of is put together."""
    import numpy as np

    merged: list[Span] = []
    for offset in range(0, len(text), _SLICE_CHARS):
        piece = text[offset : offset + _SLICE_CHARS + _AGAIN_CHARS]
        # One byte for each character; what is not ASCII becomes a question mark.
        codes = np.frombuffer(piece.encode("ascii", "replace"), np.uint8)
        for start, end in look(codes):
            first, stop = start + offset, end + offset
            if merged and first < merged[-1].end:
                merged[-1] = Span(merged[-1].start, max(stop, merged[-1].end))
            else:
                merged.append(Span(first, stop))
    return merged


def _digits(codes: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
    """Yield the stretches with enough digits and nothing but separators between them."""
    import numpy as np

    at = np.flatnonzero(codes - ord("0") < 10)  # unsigned: what is less than "0" is large
    if len(at) < _FEWEST_DIGITS:
        return
    gaps = np.diff(at)
    parted = gaps > _WIDEST_GAP + 1
    for step in range(1, _WIDEST_GAP + 1):
        inside = ~parted & (gaps > step)
        parted[inside] = ~_separates()[codes[at[:-1][inside] + step]]
    parts = np.flatnonzero(parted) + 1
    first = np.concatenate(([0], parts))
    stops = np.concatenate((parts, [len(at)]))
    enough = stops - first >= _FEWEST_DIGITS
    yield from zip(at[first[enough]].tolist(), (at[stops[enough] - 1] + 1).tolist(), strict=True)


def _words(codes: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
    import numpy as np

    outside = np.concatenate(([-1], np.flatnonzero(~_in_keys()[codes]), [len(codes)]))
    long = np.flatnonzero(np.diff(outside) > _SHORTEST_KEY)
    yield from zip((outside[long] + 1).tolist(), outside[long + 1].tolist(), strict=True)


def _letters_and_digits(codes: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
    import numpy as np

    at = np.flatnonzero(codes - ord("0") < 10)
    at = at[(at >= 2) & (at + 1 < len(codes))]
    letter = (codes & 0xDF) - ord("A") < 26
    begins = letter[at - 2] & letter[at - 1] & (codes[at + 1] - ord("0") < 10)
    yield from ((start, start + 4) for start in (at[begins] - 2).tolist())


def _table(characters: str) -> Callable[[], NDArray[np.bool_]]:
    @cache
    def table() -> NDArray[np.bool_]:
        import numpy as np

        among = np.zeros(256, np.bool_)
        among[list(characters.encode("ascii"))] = True
        return among

    return table


_separates = _table("-. /()?")
_in_keys = _table(f"{ascii_letters}{digits}_-./+=")
