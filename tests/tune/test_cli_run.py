"""The commands that train: their options, the base they take, and what is wrong before any work."""

from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit.settings.settings import Settings
from ragkit_tune.cli_run import read_options
from ragkit_tune.train import base_of


def test_options_are_toml_values_or_texts() -> None:
    assert read_options(["batch=16", "learning_rate=1e-5", "loss = cached-mnrl"]) == {
        "batch": 16, "learning_rate": 1e-5, "loss": "cached-mnrl",
    }  # fmt: skip
    with pytest.raises(UsageError, match=r"-o 'batch' is no NAME=VALUE"):
        read_options(["batch"])


def test_the_base_is_the_model_in_use_unless_named(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, embed_model="minilm", reranker="late:models/late")
    assert base_of(settings, "embedder", {}) == "minilm"
    assert base_of(settings, "embedder", {"base": "other"}) == "other"
    assert base_of(settings, "reranker", {}) == "models/late"
    served = Settings(home=tmp_path, embed_model="minilm", reranker="http://localhost:1/v1")
    assert base_of(served, "reranker", {}) == "minilm"
    with pytest.raises(UsageError, match="--base is missing"):
        base_of(settings, "adapter", {})
