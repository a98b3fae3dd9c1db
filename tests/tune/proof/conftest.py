"""What tests of proofs share: documents and models in which a gain is planted."""

import pytest

from ragkit.settings.settings import Settings
from tests.tune.proof.planted import Planted, plant


@pytest.fixture(scope="module")
def planted(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return plant(tmp_path_factory.mktemp("planted"), settings)
