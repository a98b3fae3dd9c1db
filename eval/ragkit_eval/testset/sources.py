"""Read the documents for questions from the store, in an order that a seed decides."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragkit.contracts import Store
from ragkit.filters.tree import Comparison
from ragkit.prompts.templates import PromptLanguage
from ragkit.text.language import language
from ragkit.types import Document, Hit

LANGUAGES: tuple[PromptLanguage, ...] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Source:
    """A document with its text and its passages, in their order."""

    document: Document
    text: str
    passages: tuple[Hit, ...]

    def passage_at(self, offset: int) -> Hit | None:
        """Return the last passage that begins at or before an offset; None if there is none."""
        count = bisect_right(self.passages, offset, key=lambda passage: passage.start)
        return self.passages[count - 1] if count else None


def read_source(store: Store, document: Document) -> Source:
    """Read one document's text and passages."""
    document_filter = Comparison("eq", "document", (document.id,))
    with store.snapshot() as reader:
        passages = reader.hits(reader.matching(document.collection, document_filter))
    ordered = sorted(passages, key=lambda passage: (passage.start, passage.end))
    return Source(document, store.text(document.id), tuple(ordered))


def in_drawn_order(
    documents: Sequence[Document], seed: int, names: Mapping[str, str]
) -> list[Document]:
    """Sort documents by the seed and each document's name.

    Adding or removing a document does not change the order of the others.
    """
    return sorted(documents, key=lambda document: drawn(seed, names[document.uri]))


def short_names(uris: Sequence[str]) -> dict[str, str]:
    """Map each URI to its part below the common folder, unless another URI has the same end.

    A set with these names does not depend on the folder that is ingested.

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
    """Return a sort key for an order that looks random and is the same everywhere."""
    return hashlib.sha256("\0".join(map(str, (seed, *names))).encode()).hexdigest()


def language_of(text: str, document: Document) -> PromptLanguage | None:
    """Return the language of a text, else of its document; None unless English or Chinese."""
    detected = language(text) or document.language
    return next((supported for supported in LANGUAGES if supported == detected), None)
