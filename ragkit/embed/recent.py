"""Vectors of the sentences and questions that a model embedded lately, so that none is made twice.

Answers compare a question with the sentences of a few passages, and claims with the sentences that
they cite. Questions about the same documents meet the same sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from ragkit.system.lru_cache import LruCache

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Vectors

_MOST: Final = 4096  # texts of one model: 6 MB where vectors have 384 dimensions
_MOST_CHARS: Final = 2000  # of a text that is remembered: what is longer is no sentence

_Key = tuple[bool, str]  # whether it is a question, and the text


_OF_MODELS: WeakKeyDictionary[Embedder, LruCache[_Key, Vectors]] = WeakKeyDictionary()


def embed_sentences(model: Embedder, texts: Sequence[str]) -> Vectors:
    """Return a model's vectors of one sentence or more, shape (len(texts), dimension).

    Those that are not remembered are embedded in one batch, as passages.
    """
    import numpy as np

    recent = _recent(model)
    keys = [(False, text) for text in texts]
    vectors = recent.get(keys)
    missing = [key for key in dict.fromkeys(keys) if key not in vectors]
    if missing:
        rows = model.embed_passages([text for _, text in missing])
        made = dict(zip(missing, rows, strict=True))
        vectors |= made
        # A row alone would hold the whole batch.
        _remember(recent, {key: row.copy() for key, row in made.items()})
    return np.stack([vectors[key] for key in keys])


def embed_question(model: Embedder, text: str) -> Vectors:
    """Return a model's vector of a question, shape (dimension,)."""
    key = (True, text)
    vector = _recent(model).get([key]).get(key)
    if vector is None:
        vector = model.embed_query(text)
        remember_question(model, text, vector)
    return vector


def remember_question(model: Embedder, text: str, vector: Vectors) -> None:
    """Note the vector that a search has made of a question."""
    _remember(_recent(model), {(True, text): vector})


def _remember(recent: LruCache[_Key, Vectors], vectors: Mapping[_Key, Vectors]) -> None:
    recent.put({key: (row, 1) for key, row in vectors.items() if len(key[1]) <= _MOST_CHARS})


def _recent(model: Embedder) -> LruCache[_Key, Vectors]:
    try:
        return _OF_MODELS.setdefault(model, LruCache(_MOST))
    except TypeError:  # of a class whose objects cannot be keys: nothing is remembered
        return LruCache(_MOST)
