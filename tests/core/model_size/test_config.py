"""Configurations that are no model's, or are not here, are errors of one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit.model_size.config import parse_config, read_config, stored_bytes


def test_what_is_no_configuration_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="architecture 'no_such' is not known"):
        parse_config({"model_type": "no_such"})
    for text, message in {
        "[]": "names no model_type",
        "{": "is no model's config",
        "": "is no",
    }.items():
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(UsageError, match=message):
            read_config(str(tmp_path))
    for nowhere in ("no/such/folder/here", "./gone", "a b"):
        with pytest.raises(UsageError, match="is neither a folder"):
            read_config(nowhere)
    with pytest.raises(UsageError, match="is a GGUF file"):
        read_config("model.gguf")


def test_a_model_that_is_not_here_is_one_line_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="not in the local cache, and HF_HUB_OFFLINE is set"):
        read_config("some/model")
    assert stored_bytes("some/model") is None
