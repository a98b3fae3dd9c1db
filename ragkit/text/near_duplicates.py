"""Near duplicates: signatures of texts, bands to look them up by, and their similarity.

MinHash (Broder, 1997, doi:10.1109/SEQUEN.1997.666900) by datasketch. What two texts share are runs
of three words, or of five characters of Chinese, Japanese and Korean; case, spacing and punctuation
do not count.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Leads every signature, and so enters every band: what was made in another way is found by no band
# and is like nothing. To be renamed with any change of what `signature` returns.
SCHEME: Final = "minhash-affine32/256/seed-1+words-3+cjk-5/1"
_MARK_BYTES: Final = 8
PERMUTATIONS: Final = 256
BAND_COUNT: Final = 16
BAND_ROWS: Final = 8

# Runs of three words tell an edited copy from another text on the same subject, which sets of
# single words do not. Five Chinese characters say about as much.
_WORDS: Final = 3
_CHARACTERS: Final = 5
_SEED: Final = 1
_SLICE_CHARS = 1 << 20  # hashed together; bounds memory
_BATCH = 1024  # runs permuted together: 1 MB, which stays in a processor's cache
_LONGEST_WORD = 64  # what is longer is told apart by its first so many characters and its length

_OTHER, _WORD, _CJK = range(3)
_CJK_RANGES: Final = (
    (0x3005, 0x3008),
    (0x3040, 0x3100),
    (0x3400, 0x4DC0),
    (0x4E00, 0xA000),
    (0xAC00, 0xD7B0),
    (0xF900, 0xFB00),
)
_BMP = 0x10000  # of what is above, everything counts as Chinese: rare characters, and emoji


def signature(text: str) -> bytes:
    """Return the 1,032 bytes by which a text is compared; none for a text without words.

    First the scheme's mark, then 256 values. Two signatures of one scheme agree in a share of these
    that estimates the Jaccard similarity s of the sets of runs, |A and B| / |A or B|, with a
    standard error of sqrt(s (1 - s) / 256): 0.019 at 0.9, 0.031 at 0.5.
    """
    from datasketch import MinHash

    sketch = MinHash(PERMUTATIONS, seed=_SEED, hashfunc=int, scheme="affine32")
    folded = unicodedata.normalize("NFKC", text).casefold()
    for start in range(0, len(folded), _SLICE_CHARS):
        runs = _runs(folded[start : start + _SLICE_CHARS])
        for first in range(0, len(runs), _BATCH):
            sketch.update_batch(runs[first : first + _BATCH].tolist())
    return b"" if sketch.is_empty() else _mark() + sketch.hashvalues.astype("<u4").tobytes()


def bands(signature: bytes) -> list[int]:
    """Return 16 signed 64-bit numbers; texts that share one are worth comparing.

    Each stands for the scheme, eight values of the signature and its own place. Two texts of
    similarity s share one with probability 1 - (1 - s**8)**16: 0.9999 at 0.9, 0.947 at 0.8, 0.061
    at 0.5.
    """
    mark, values = signature[:_MARK_BYTES], signature[_MARK_BYTES:]
    width = BAND_ROWS * 4
    pieces = (
        mark + bytes([n]) + values[n * width : (n + 1) * width]
        for n in range(BAND_COUNT if signature else 0)
    )
    return [
        int.from_bytes(blake2b(piece, digest_size=8).digest(), "big", signed=True)
        for piece in pieces
    ]


def similarity(first: bytes, second: bytes) -> float:
    """Estimate the Jaccard similarity of two texts from their signatures, 0 to 1.

    A text without words is like no other, and not like another without words; nor are signatures
    of two schemes alike.

    >>> similarity(signature("Change the filters in May."), signature("change the filters in MAY"))
    1.0
    """
    import numpy as np

    if not first or len(first) != len(second) or first[:_MARK_BYTES] != second[:_MARK_BYTES]:
        return 0.0
    first_signs, second_signs = (
        np.frombuffer(sign, "<u4", offset=_MARK_BYTES) for sign in (first, second)
    )
    return float(np.mean(first_signs == second_signs))


def _mark() -> bytes:
    return blake2b(SCHEME.encode(), digest_size=_MARK_BYTES).digest()


def _runs(text: str) -> NDArray[np.uint32]:
    """Hash every run of three words, and of five CJK characters; a shorter text is one run."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    kinds = _kinds()[np.minimum(codes, _BMP)]
    hashes = [
        _joined(_word_hashes(codes, kinds), _WORDS),
        _joined(_mixed(codes[kinds == _CJK].astype(np.uint64)), _CHARACTERS),
    ]
    return np.concatenate(hashes)


def _word_hashes(codes: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash each word: the sum of its characters' hashes, each times its place's own odd number."""
    import numpy as np

    inside = np.flatnonzero(kinds == _WORD)
    if not len(inside):
        return np.zeros(0, np.uint64)
    begins = np.flatnonzero(np.diff(inside, prepend=-2) > 1)
    place = np.arange(len(inside)) - np.repeat(begins, np.diff(begins, append=len(inside)))
    factors = _factors()[np.minimum(place, _LONGEST_WORD)]
    return _mixed(np.add.reduceat(_mixed(codes[inside].astype(np.uint64)) * factors, begins))


def _joined(units: NDArray[np.uint64], length: int) -> NDArray[np.uint32]:
    """Hash every so many units that follow one another, in their order."""
    import numpy as np

    if not len(units):
        return np.zeros(0, np.uint32)
    length = min(length, len(units))
    windows = len(units) - length + 1
    total = np.full(windows, length, np.uint64)
    for n in range(length):
        total += units[n : n + windows] * _factors()[n]
    return (_mixed(total) >> np.uint64(32)).astype(np.uint32)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread 64-bit values: the finalizer of MurmurHash3 (Appleby, public domain)."""
    import numpy as np

    shift = np.uint64(33)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        values = (values ^ (values >> shift)) * np.uint64(factor)
    return values ^ (values >> shift)


@cache
def _factors() -> NDArray[np.uint64]:
    """Make an odd number for each place in a word or run."""
    import numpy as np

    return _mixed(np.arange(1, _LONGEST_WORD + 2, dtype=np.uint64)) | np.uint64(1)


@cache
def _kinds() -> NDArray[np.uint8]:
    """Tell what each character of the Basic Multilingual Plane is, and last what others are."""
    import numpy as np

    kinds = np.array([_WORD if chr(n).isalnum() else _OTHER for n in range(_BMP)] + [_CJK], "u1")
    for first, stop in _CJK_RANGES:
        kinds[first:stop] = _CJK
    return kinds
