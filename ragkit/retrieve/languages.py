"""The languages of a collection's passages, each of which the dense leg searches for itself.

A model that reads several languages puts texts of one language nearer to each other than texts of
one meaning. So a cosine is compared with those of passages in the same language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.filters import Comparison, Every, Filter, Not

if TYPE_CHECKING:
    from ragkit.contracts import Embedder

_CHINESE: Final = Comparison("eq", "language", ("zh",))
_CHINESE_TEXT: Final = "\u4e2d\u6587"


@dataclass(frozen=True, slots=True)
class Part:
    """Passages that are searched together: a filter, and their share of the documents, 0 to 1."""

    where: Filter | None
    share: float = 1.0
    language: Filter | None = None  # what parts them, without the search's own filter


def parts(documents: Mapping[str, int], where: Filter | None, embedder: Embedder) -> Sequence[Part]:
    """Part a collection into Chinese and other passages, where it has both.

    `documents` counts its documents by language. Chinese ones that the model does not read are in
    no part.
    """
    chinese, every = documents.get("zh", 0), sum(documents.values())
    if not 0 < chinese < every:
        return [Part(where)]
    share = chinese / every
    others = Part(_both(where, Not(_CHINESE)), 1 - share, Not(_CHINESE))
    if not embedder.reads(_CHINESE_TEXT):
        return [others]
    return [others, Part(_both(where, _CHINESE), share, _CHINESE)]


def _both(where: Filter | None, language: Filter) -> Filter:
    return language if where is None else Every((where, language))
