"""Vectors of the sentences and questions that a model embedded lately, so that none is made twice.

Answers compare a question with the sentences of a few passages, and claims with the sentences that
they cite. Questions about the same documents meet the same sentences.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Vectors

_MOST: Final = 4096  # texts of one model: 6 MB where vectors have 384 dimensions
_MOST_CHARS: Final = 2000  # of a text that is remembered: what is longer is no sentence

_Key = tuple[bool, str]  # whether it is a question, and the text


class _Recent:
    """The vectors that one model made last. Threads may share it."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[_Key, Vectors] = OrderedDict()
        self._lock = Lock()

    def get(self, key: _Key) -> Vectors | None:
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
            return vector

    def put(self, key: _Key, vector: Vectors) -> None:
        if len(key[1]) > _MOST_CHARS:
            return
        with self._lock:
            self._vectors[key] = vector
            if len(self._vectors) > _MOST:
                self._vectors.popitem(last=False)


_OF_MODELS: WeakKeyDictionary[Embedder, _Recent] = WeakKeyDictionary()


def embed_sentences(model: Embedder, texts: Sequence[str]) -> Vectors:
    """Return a model's vectors of one sentence or more, shape (len(texts), dimension).

    Those that are not remembered are embedded in one batch, as passages.
    """
    import numpy as np

    recent = _recent(model)
    vectors: dict[str, Vectors] = {}
    missing: list[str] = []
    for text in dict.fromkeys(texts):
        vector = recent.get((False, text))
        if vector is None:
            missing.append(text)
        else:
            vectors[text] = vector
    if missing:
        for text, vector in zip(missing, model.embed_passages(missing), strict=True):
            vectors[text] = vector
            recent.put((False, text), vector.copy())  # a row alone would hold the whole batch
    return np.stack([vectors[text] for text in texts])


def embed_question(model: Embedder, text: str) -> Vectors:
    """Return a model's vector of a question, shape (dimension,)."""
    recent = _recent(model)
    vector = recent.get((True, text))
    if vector is None:
        vector = model.embed_query(text)
        recent.put((True, text), vector)
    return vector


def remember_question(model: Embedder, text: str, vector: Vectors) -> None:
    """Note the vector that a search has made of a question."""
    _recent(model).put((True, text), vector)


def _recent(model: Embedder) -> _Recent:
    try:
        return _OF_MODELS.setdefault(model, _Recent())
    except TypeError:  # of a class whose objects cannot be keys: nothing is remembered
        return _Recent()
