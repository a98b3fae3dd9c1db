"""Each step of a run says how much memory the run has had."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.tune.worker.here import script

pytestmark = pytest.mark.long


def status_bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").split("\n")
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def test_a_step_has_the_peak_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    written: list[dict[str, Any]] = []
    log = SimpleNamespace(write=lambda **line: written.append(line), tell=print, seconds=0.0)
    guard = script("guard").Guard(log, 2)
    args, logs = SimpleNamespace(world_size=1, learning_rate=1e-3), {"loss": 1.0, "grad_norm": 1.0}
    guard.on_log(args, SimpleNamespace(global_step=1), None, logs=logs)
    block = bytearray(b"x") * (300 * 2**20)
    resident = status_bytes("VmRSS")
    guard.on_log(args, SimpleNamespace(global_step=2), None, logs=logs)
    del block
    guard.on_log(args, SimpleNamespace(global_step=3), None, logs=logs)
    first, second, third = (line["peak_process_bytes"] for line in written)
    # The system counts by threads and adds up now and then: a hundredth more or less.
    assert 300 * 2**20 < resident * 0.99 <= second
    assert second >= first * 0.99
    assert third >= second * 0.99, "a peak does not fall"


def test_a_gpu_counts_where_it_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 7)
    assert script("guard").peak_memory() == {"peak_gpu_bytes": 7}
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 0)
    assert set(script("guard").peak_memory()) == {"peak_process_bytes"}
