"""What a model's name in a request means: a collection, or the served model itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit_serve.api.errors import ApiError

if TYPE_CHECKING:
    from ragkit.settings import Settings

RAGKIT: Final = "ragkit"


@dataclass(frozen=True, slots=True)
class Named:
    """A collection to answer from, None for the caller's default, or else the served model."""

    collection: str | None = None
    served: str | None = None


def named(model: str, settings: Settings) -> Named:
    """Read a model's name. Raises ApiError 404 for one that is not offered."""
    if model == RAGKIT:
        return Named()
    if model.startswith(f"{RAGKIT}/") and len(model) > len(RAGKIT) + 1:
        return Named(collection=model.removeprefix(f"{RAGKIT}/"))
    if model == served_model(settings):
        return Named(served=model)
    raise ApiError(
        404,
        f"there is no model {model[:100]!r}: GET /v1/models lists those there are",
        code="model_not_found",
        param="model",
    )


def served_model(settings: Settings) -> str | None:
    """Return the name of the language model that requests may be passed on to; None for none."""
    url = settings.llm_url or ""
    return settings.llm_model if url.startswith(("http://", "https://")) else None
