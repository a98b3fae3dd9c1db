"""Vectors by text, embedded once: the splitters' chunks have many texts in common."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragkit.embed.local import LocalEmbedder

if TYPE_CHECKING:
    from ragkit.contracts import Vectors


class Kept:
    """Vectors by text; in a folder of BENCH_HOME between runs, if it is set."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self.embedder = embedder
        home = os.environ.get("BENCH_HOME")
        self._file = Path(home, "splitters.npz") if home else None
        self._known: dict[str, Vectors] = {}
        if self._file and self._file.exists():
            with np.load(self._file) as table:
                self._known = dict(zip(table["names"].tolist(), table["vectors"], strict=True))

    def query(self, text: str) -> Vectors:
        return self._all([text], self._one_query)[0]

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts: shape (len(texts), dimension)."""
        rows = self._all(texts, self.embedder.embed_passages)
        if self._file:
            names = np.array(list(self._known))
            np.savez(self._file, names=names, vectors=np.stack(list(self._known.values())))
        return np.stack(rows)

    def _one_query(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embedder.embed_query(text) for text in texts])

    def _all(self, texts: Sequence[str], embed: object) -> list[Vectors]:
        assert callable(embed)
        names = [hashlib.sha256(text.encode()).hexdigest()[:32] for text in texts]
        missing = {n: t for n, t in zip(names, texts, strict=True) if n not in self._known}
        for group in _groups(list(missing.items())):
            vectors = embed([text for _, text in group])
            self._known.update(zip((name for name, _ in group), vectors, strict=True))
        return [self._known[name] for name in names]


def _groups(items: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    for first in range(0, len(items), 256):
        yield items[first : first + 256]
