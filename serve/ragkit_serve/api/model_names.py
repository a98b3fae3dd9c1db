"""What a model's name in a request means: a collection, or the served model itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool

from ragkit_serve.api.errors import ApiError

if TYPE_CHECKING:
    from ragkit.settings import Settings
    from ragkit_serve.services import Services

RAGKIT: Final = "ragkit"


@dataclass(frozen=True, slots=True)
class Named:
    """A collection to answer from, None for the caller's default, or else the served model."""

    collection: str | None = None
    served: str | None = None


async def named(model: str, services: Services) -> Named:
    """Read a model's name. Raises ApiError 404 for one that is not offered."""
    if model == RAGKIT:
        return Named()
    if model.startswith(f"{RAGKIT}/") and len(model) > len(RAGKIT) + 1:
        return Named(collection=model.removeprefix(f"{RAGKIT}/"))
    if model == await run_in_threadpool(served_model, services):
        return Named(served=model)
    raise ApiError(
        404,
        f"there is no model {model[:100]!r}: GET /v1/models lists those there are",
        code="model_not_found",
        param="model",
    )


def served_model(services: Services) -> str | None:
    """Return the name of the language model that requests may be passed on to; None for none.

    Where the settings do not name it, its server is asked once. Raises what `only_model` does.
    """
    if not is_served(services.settings):
        return None
    model = services.library.model
    assert model is not None, "the settings have a server"
    return model.name


def is_served(settings: Settings) -> bool:
    """Tell whether there is a server of a language model that requests may be passed on to."""
    return (settings.llm_url or "").startswith(("http://", "https://"))
