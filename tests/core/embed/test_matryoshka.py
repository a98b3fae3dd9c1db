"""The first dimensions of a model alone, of length 1 again."""

from pathlib import Path

import numpy as np
import pytest

from ragkit.embed.local import LocalEmbedder, identify
from ragkit.errors import ModelError, SettingsError
from ragkit.knowledge import build
from ragkit.settings.settings import Settings
from tests.core.embed.tiny_model import write_model

TEXTS = ["Lift and drag of a wing.", "", "28 days of leave"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny", seed=1, dimension=32)


def test_the_first_dimensions_are_kept_and_made_unit_vectors_again(folder: Path) -> None:
    whole, cut = LocalEmbedder(str(folder)), LocalEmbedder(str(folder), dimension=12)
    expected = whole.embed_passages(TEXTS)[:, :12]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = cut.embed_passages(TEXTS)
    assert found.shape == (3, 12)
    assert np.allclose(found, expected, atol=1e-6)
    assert np.linalg.norm(found, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)
    query = whole.embed_query("a wing")[:12]
    assert np.allclose(cut.embed_query("a wing"), query / np.linalg.norm(query), atol=1e-6)


def test_the_dimension_is_part_of_the_space(folder: Path) -> None:
    whole, cut = LocalEmbedder(str(folder)).space, LocalEmbedder(str(folder), dimension=12).space
    assert (whole.dimension, cut.dimension) == (32, 12)
    assert (whole.model, whole.revision) == (cut.model, cut.revision)
    assert LocalEmbedder(str(folder), dimension=32).space == whole
    assert identify(str(folder)).dimension == 0  # told without loading the network
    assert identify(str(folder)).revision == whole.revision


def test_more_dimensions_than_there_are_is_one_clear_line(folder: Path) -> None:
    with pytest.raises(ModelError) as caught:
        LocalEmbedder(str(folder), dimension=33).load()
    assert str(caught.value) == (
        "embedding model tiny has 32 dimensions where the first 33 are asked for: set"
        " RAGKIT_EMBED_DIMENSION to at most 32, or not at all"
    )


def test_the_setting_reaches_the_model(folder: Path) -> None:
    embedder = build.embedder(Settings(embed_model=str(folder), embed_dimension=5))
    embedder.load()
    assert embedder.space.dimension == 5
    with pytest.raises(SettingsError, match="embed_dimension"):
        Settings(embed_dimension=0)
