"""Open the reranker that the settings name, without loading it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ragkit.errors import SettingsError

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Reranker
    from ragkit.settings.settings import Settings

_LATE: Final = "late:"


def open_reranker(settings: Settings, embedder: Embedder) -> Reranker | None:
    """Return the reranker of `settings.reranker`, not yet loaded; None when they name none.

    `cosine`, a cross-encoder's folder or hub name, late:MODEL, or a server's URL. Raises
    SettingsError for late: without a model.
    """
    named = settings.reranker
    if named is None:
        return None
    if named == "cosine":
        from ragkit.knowledge.cosine_reranker import CosineReranker

        return CosineReranker(embedder)
    if named.startswith(("http://", "https://")):
        from ragkit.rerank.server import ServerReranker

        key = settings.reranker_api_key
        return ServerReranker(
            named,
            model=settings.reranker_model,
            api_key=None if key is None else key.get_secret_value(),
        )
    if named.startswith(_LATE):
        from ragkit.rerank.late import LateReranker

        model = named.removeprefix(_LATE).strip()
        if not model:
            raise SettingsError("RAGKIT_RERANKER is 'late:' without a model: write late:MODEL")
        return LateReranker(model, device=settings.embed_device)
    from ragkit.rerank.cross_encoder import CrossEncoderReranker

    return CrossEncoderReranker(named, device=settings.embed_device)
