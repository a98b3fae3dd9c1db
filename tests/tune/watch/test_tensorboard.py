"""Runs as TensorBoard reads them."""

from __future__ import annotations

import stat
import struct
from math import isnan
from pathlib import Path

import pytest

from ragkit_tune.watch.summary import summarise
from ragkit_tune.watch.tensorboard import export
from tests.tune.watch.run_folders import dev, make_run, step, verdict

LINES = [dev(0, 0.25), step(1, 2.5), step(2, "nan"), dev(2, 0.5), step(300, 1.0)]


def test_a_run_is_a_file_of_whole_records(tmp_path: Path) -> None:
    (path,) = export([summarise(make_run(tmp_path, "first", LINES))], tmp_path / "out")
    assert path == tmp_path / "out/first/events.out.tfevents.1795860000.ragkit"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    content, records = path.read_bytes(), 0
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        content = content[8 + 4 + length + 4 :]
        records += 1
    assert records == 2 + 4  # the version, the recipe, and steps 0, 1, 2 and 300


def test_a_run_that_is_exported_again_replaces_itself(tmp_path: Path) -> None:
    run = make_run(tmp_path, "first", LINES)
    (before,) = export([summarise(run)], tmp_path / "out")
    size = before.stat().st_size
    with run.folder.steps.open("a") as file:
        file.write('{"step": 301, "loss": 0.5}\n')
    assert export([summarise(run)], tmp_path / "out") == [before]
    assert before.stat().st_size > size
    assert [path.name for path in before.parent.iterdir()] == [before.name]


def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    reading = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="tensorboard is not installed: the bytes are compared in test_event_file.py",
    )
    run = make_run(tmp_path, "first", LINES, verdict=verdict(0.03, 0.01, 0.05))
    (path,) = export([summarise(run)], tmp_path / "out")
    read = reading.EventAccumulator(str(path.parent))
    read.Reload()
    loss = read.Scalars("train/loss")
    assert [(event.step, event.wall_time) for event in loss] == [
        (1, 1795860002.0),
        (2, 1795860004.0),
        (300, 1795860600.0),
    ]
    assert loss[0].value == 2.5
    assert isnan(loss[1].value)
    assert [event.value for event in read.Scalars("dev/ndcg@10")] == [0.25, 0.5]
    (text,) = read.Tensors("recipe")
    assert b"| batch | 32 |" in text.tensor_proto.string_val[0]
    assert b"verdict: better by 0.030" in text.tensor_proto.string_val[0]
