"""What a model's name in a request means: a collection, or a served model itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool

from ragkit.model.open import is_served
from ragkit_serve.api.errors import ApiError

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_serve.api.services import Services

RAGKIT: Final = "ragkit"


@dataclass(frozen=True, slots=True)
class Named:
    """A collection to answer from, None for the caller's default, or else a served model."""

    collection: str | None = None
    served: str | None = None


async def named(model: str, services: Services) -> Named:
    """Read a model's name. Raises ApiError 404 for one that is not offered."""
    if model == RAGKIT:
        return Named()
    if model.startswith(f"{RAGKIT}/") and len(model) > len(RAGKIT) + 1:
        return Named(collection=model.removeprefix(f"{RAGKIT}/"))
    if await run_in_threadpool(_is_model, model, services):
        return Named(served=model)
    raise ApiError(
        404,
        f"there is no model {model[:100]!r}: GET /v1/models lists those there are",
        code="model_not_found",
        param="model",
    )


def served_models(services: Services) -> Sequence[str]:
    """List the language models that requests may be passed on to.

    It is the one that the settings name, else those that `Library.models` lists, whose errors it
    raises.
    """
    named = _named_model(services.settings)
    return services.library.models() if named is None else (named,)


def _is_model(name: str, services: Services) -> bool:
    named = _named_model(services.settings)
    return services.library.has_model(name) if named is None else name == named


def _named_model(settings: Settings) -> str | None:
    """Return the served model that the settings name; None where they name none."""
    return settings.llm_model if is_served(settings) else None
