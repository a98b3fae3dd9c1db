"""The documents that questions are made of, as the store keeps them, in an order a seed decides.

It reads what is stored and knows nothing of questions.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragkit.answer.templates import PromptLanguage
from ragkit.contracts import Store
from ragkit.filters import Comparison
from ragkit.text.language import language
from ragkit.types import Document, Hit

LANGUAGES: tuple[PromptLanguage, ...] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Source:
    """A document with its text and its passages, in the order in which they stand."""

    document: Document
    text: str
    passages: tuple[Hit, ...]

    def passage_at(self, offset: int) -> Hit | None:
        """Return the last passage that begins at or before an offset; None before the first."""
        before = bisect_right(self.passages, offset, key=lambda passage: passage.start)
        return self.passages[before - 1] if before else None


def read_source(store: Store, document: Document) -> Source:
    """Read one document's text and passages."""
    this = Comparison("eq", "document", (document.id,))
    with store.snapshot() as reader:
        passages = reader.hits(reader.matching(document.collection, this))
    ordered = sorted(passages, key=lambda passage: (passage.start, passage.end))
    return Source(document, store.text(document.id), tuple(ordered))


def in_drawn_order(
    documents: Sequence[Document], seed: int, names: Mapping[str, str]
) -> list[Document]:
    """Put documents into an order that depends on the seed and each one's name alone.

    A document that is added or removed leaves the order of the others as it was.
    """
    return sorted(documents, key=lambda document: drawn(seed, names[document.uri]))


def short_names(uris: Sequence[str]) -> dict[str, str]:
    """Map each URI to what follows the folder that they share, where no other URI ends like it.

    A set that names documents so is right wherever they are ingested from.

    >>> short_names(["/home/me/handbook/en/leave.md", "/home/me/handbook/zh/leave.md"])
    ... # doctest: +NORMALIZE_WHITESPACE
    {'/home/me/handbook/en/leave.md': 'en/leave.md',
     '/home/me/handbook/zh/leave.md': 'zh/leave.md'}
    """
    folders = [_split(uri)[:-1] for uri in uris]
    shared = 0
    while folders and all(len(f) > shared and f[shared] == folders[0][shared] for f in folders):
        shared += 1
    names = {uri: "/".join(_split(uri)[shared:]) for uri in uris}
    ends = Counter("/".join(parts[n:]) for parts in map(_split, uris) for n in range(len(parts)))
    return {uri: name if ends[name] == 1 else uri for uri, name in names.items()}


def _split(uri: str) -> list[str]:
    return uri.split("/")


def drawn(seed: int, *names: object) -> str:
    """Return what to sort by for an order that looks like chance and is the same everywhere."""
    return hashlib.sha256("\0".join(map(str, (seed, *names))).encode()).hexdigest()


def language_of(text: str, document: Document) -> PromptLanguage | None:
    """Name a text's language, or else its document's; None for any but English and Chinese."""
    named = language(text) or document.language
    return next((known for known in LANGUAGES if known == named), None)
