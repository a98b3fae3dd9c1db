"""A model's revision is the hash of its weights, read once for each of their states."""

import hashlib
import os
from pathlib import Path

import pytest

from ragkit.embed.find import find_model


def test_other_weights_are_another_revision(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"one")
    first = find_model(str(tmp_path)).revision
    weights.write_bytes(b"two")
    os.utime(weights, ns=(1, 1))  # the clock of a file system may be coarse
    assert find_model(str(tmp_path)).revision != first
    weights.write_bytes(b"one")
    assert find_model(str(tmp_path)).revision == first


def test_weights_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights that are read once")
    first = find_model(str(tmp_path))
    monkeypatch.delattr(hashlib, "file_digest")
    assert find_model(str(tmp_path)) == first
