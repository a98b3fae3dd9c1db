"""The `--where` option: restrict a search to documents that match a filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase

Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="FILTER",
        help="Use only documents that match this filter, for example "
        "'language = \"en\" and year >= 2020'.",
    ),
]


def check_where(kb: KnowledgeBase, where: str) -> None:
    """Raise QueryError for a filter that every search of the collection would refuse."""
    from ragkit.filters.tree import parse

    with kb.store.snapshot() as reader:
        reader.allowed(kb.collection, [], parse(where))
