"""The tiny embedders, made once; float32 everywhere, so that two programs can be compared."""

from pathlib import Path

import pytest

from tests.tune.shrink.tiny_embedders import KINDS, write_embedder


@pytest.fixture(scope="session")
def embedders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embedders")
    for kind in KINDS:
        write_embedder(folder / kind, kind)
    return folder


@pytest.fixture(autouse=True)
def float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit.embed.precision.cpu_precision", lambda: "float32")
