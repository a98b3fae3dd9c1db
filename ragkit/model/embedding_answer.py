"""Read the answer of an OpenAI-compatible /v1/embeddings: unit vectors in the order of the texts.

Nothing in it is trusted: numbers, sizes and order are checked.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Vectors

MAX_DIMENSION: Final = 16_000  # pgvector stores no more in a column
NUMBER_BYTES: Final = 32  # of a number as text, with its comma; arbitrary, floats take up to 25


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors, shape (n, dimension), of length 1; `tokens` is what the server counted, or 0."""

    vectors: Vectors
    tokens: int


def read_embeddings(answer: bytes, count: int) -> Embeddings:
    """Read the vectors of `count` texts, as numbers or as base64 of little-endian float32.

    Raises ValueError for anything else, RecursionError for deep nesting.
    """
    import numpy as np

    value = json.loads(answer)
    rows = value.get("data") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("it holds no list of embeddings")
    indices = [row.get("index") for row in rows]
    if not all(type(index) is int for index in indices) or sorted(indices) != list(range(count)):
        raise ValueError(f"its indices are not those of {count} texts, each once")
    read = {row["index"]: _vector(row.get("embedding")) for row in rows}
    sizes = {len(vector) for vector in read.values()}
    if len(sizes) != 1 or not 1 <= max(sizes) <= MAX_DIMENSION:
        raise ValueError(f"its vectors have {_listed(sizes)} dimensions")
    vectors = np.stack([read[index] for index in range(count)])
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise ValueError("a vector has numbers that are not finite, or has no length")
    return Embeddings((vectors / norms).astype(np.float32), _tokens(value.get("usage")))


def _vector(value: object) -> NDArray[np.float64]:
    import numpy as np

    if isinstance(value, str):
        content = base64.b64decode(value, validate=True)
        if len(content) % 4:
            raise ValueError("a vector in base64 is cut off")
        return np.frombuffer(content, "<f4").astype(np.float64)
    if not isinstance(value, list) or not all(type(number) in (float, int) for number in value):
        raise ValueError("a vector is no list of numbers")
    try:
        return np.array(value, np.float64)
    except OverflowError as error:  # an integer of hundreds of digits
        raise ValueError("a vector has a number that is too large") from error


def _listed(sizes: set[int]) -> str:
    return " and ".join(str(size) for size in sorted(sizes)[:2]) or "no"


def _tokens(usage: object) -> int:
    count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return count if type(count) is int and count > 0 else 0
