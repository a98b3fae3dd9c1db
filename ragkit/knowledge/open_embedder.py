"""Open the embedding model of a server that the settings name, without asking the server.

A server's model goes by `served:NAME` wherever a local one goes by its name or folder.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ragkit.embed.find import SERVED
from ragkit.errors import ModelError

if TYPE_CHECKING:
    from ragkit.model.served_embedder import ServedEmbedder
    from ragkit.settings.settings import Settings
    from ragkit.types import EmbeddingSpace


def open_served(settings: Settings) -> ServedEmbedder:
    """Return the embedder of the server that `settings.embed_url` names."""
    from ragkit.model.embedding_server import EmbeddingServer
    from ragkit.model.served_embedder import ServedEmbedder

    assert settings.embed_url is not None, "the settings name a server"
    named = "embed_model" in settings.model_fields_set
    return ServedEmbedder(
        EmbeddingServer(settings.embed_url, api_key=_key(settings)),
        settings.embed_model.removeprefix(SERVED) if named else None,
        tokenizer=settings.embed_tokenizer,
        context_tokens=settings.embed_context_tokens,
        dimension=settings.embed_dimension,
    )


def identify_served(settings: Settings, model: str) -> EmbeddingSpace:
    """Tell the space of `served:NAME` without asking the server; its dimension is 0.

    Raises ModelError where the settings name no server.
    """
    from ragkit.model.served_embedder import identify_served as identify

    if settings.embed_url is None:
        raise ModelError(
            f"{model} is a server's model, but there is no server: set RAGKIT_EMBED_URL to its"
            " address"
        )
    return identify(model.removeprefix(SERVED), settings.embed_tokenizer)


def first_served(settings: Settings) -> str:
    """Return `served:NAME` of the model that the server has; a process asks for it once.

    Raises ModelServerError.
    """
    assert settings.embed_url is not None, "the settings name a server"
    return _first(settings.embed_url, _key(settings))


def _key(settings: Settings) -> str | None:
    return settings.embed_api_key.get_secret_value() if settings.embed_api_key else None


@cache
def _first(url: str, api_key: str | None) -> str:
    from ragkit.model.embedding_server import EmbeddingServer
    from ragkit.model.served_embedder import first_model

    return SERVED + first_model(EmbeddingServer(url, api_key=api_key))
