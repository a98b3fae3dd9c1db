"""Lists by cursor: at most so many, those behind the last one of the page before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, Literal, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict

T = TypeVar("T")
Row = TypeVar("Row")

MAX_ID = 2**63 - 1
Id = Annotated[int, Path(ge=1, le=MAX_ID, examples=[1])]
Limit = Annotated[int, Query(ge=1, le=100, description="How many to list at most.")]
After = Annotated[
    int | None, Query(ge=1, le=MAX_ID, description="The `last_id` of the page before.")
]


class Listing(BaseModel, Generic[T]):
    """A page of a list; `last_id` is the `after` of the next one, if there `has_more`."""

    model_config = ConfigDict(frozen=True)

    object: Literal["list"] = "list"
    data: list[T]
    has_more: bool
    last_id: str | None


def listing(
    rows: Sequence[Row], limit: int, item_of: Callable[[Row], T], id_of: Callable[[Row], object]
) -> Listing[T]:
    """Make a page of up to `limit` rows, of which one more was asked for."""
    page = rows[:limit]
    return Listing(
        data=[item_of(row) for row in page],
        has_more=len(rows) > limit,
        last_id=str(id_of(page[-1])) if page else None,
    )
