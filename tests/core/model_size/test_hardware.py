"""Amounts of memory as they are written, and as the driver of a GPU says."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit.model_size.hardware import GIB, helpers_bytes, memory, parse_bytes


def test_what_is_no_amount_of_memory_is_one_line() -> None:
    for text in ("", "24XB", "-1GB", "0", "1e3GB"):
        with pytest.raises(UsageError, match="is no amount of memory"):
            parse_bytes(text)
    for both in ((None, None), ("1GB", "1GB")):
        with pytest.raises(UsageError, match="say what to plan for"):
            memory(*both)
    with pytest.raises(UsageError, match="--gpus does not go with --ram"):
        memory(None, "8GB", gpus=2)


def test_a_helper_model_needs_its_weights_and_room_to_work() -> None:
    # 22,713,216 parameters (its model card says 22.7M), and half a GiB to work in.
    assert helpers_bytes("all-MiniLM-L6-v2") == 2 * 22_713_216 + GIB // 2


def test_the_driver_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def driver(says: str) -> None:
        file = tmp_path / "nvidia-smi"
        file.write_text(f"#!/bin/sh\n{says}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    driver("printf '24564\\n16376\\n'")
    assert memory("auto", None, gpus=2) == (True, 16376 * 2**20)
    with pytest.raises(UsageError, match="sees 2 GPUs, not 4"):
        memory("auto", None, gpus=4)
    for says in ("exit 9", "echo No devices were found"):
        driver(says)
        with pytest.raises(ModelError, match="nvidia-smi sees no GPU"):
            memory("auto", None)
