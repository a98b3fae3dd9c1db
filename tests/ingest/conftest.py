"""What tests of ingestion share: the packaged embedding model, loaded once."""

import pytest

from ragkit.contracts import Embedder
from ragkit.embed.find import default_model
from ragkit.knowledge import build
from ragkit.settings.settings import Settings


@pytest.fixture
def shared_model(loaded_embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs in the test's process share one loaded model.

    Each run would load it anew: most of the time of a small ingestion.
    Processes that a test starts load their own.
    """
    embedder = build.embedder

    def shared(settings: Settings) -> Embedder:
        named = (settings.embed_model, settings.embed_device, settings.embed_dimension)
        return loaded_embedder if named == (default_model(), None, None) else embedder(settings)

    monkeypatch.setattr(build, "embedder", shared)
