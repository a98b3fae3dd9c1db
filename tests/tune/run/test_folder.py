"""Folders of runs: made once, read back, private, locked by the process that works on them."""

import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import BusyError, NotFoundError, UsageError
from ragkit.store.server.locks import FileLock
from ragkit_tune.run.folder import (
    INTERRUPTED,
    RunFolder,
    check_new_name,
    create_run,
    delete_run,
    find_run,
    list_runs,
)

VALUES: dict[str, Any] = {"kind": "embedder", "state": "finished", "recipe": {}, "base": {}}


def test_a_run_is_made_with_its_description(tmp_path: Path) -> None:
    folder = create_run(tmp_path, "first", VALUES)
    assert folder.path == tmp_path / "tune/first"
    run = folder.read()
    assert (run.name, run.kind, run.state, run.failure) == ("first", "embedder", "finished", "")
    assert run.values["format"] == 1
    assert run.values["verdict"] is None
    assert folder.checkpoints.is_dir()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.file.stat().st_mode) == 0o600


def test_runs_without_a_name_are_numbered(tmp_path: Path) -> None:
    names = [create_run(tmp_path, "", VALUES).name for _ in range(3)]
    assert names == ["embedder-1", "embedder-2", "embedder-3"]
    delete_run(find_run(tmp_path, "embedder-2"))
    assert create_run(tmp_path, "", VALUES).name == "embedder-4"
    assert [run.name for run in list_runs(tmp_path)] == ["embedder-1", "embedder-3", "embedder-4"]


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", "", "a" * 65, "a b", "名"])
def test_a_name_stays_within_the_folder_of_runs(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is no name of a run"):
        find_run(tmp_path, name)
    if name:
        with pytest.raises(UsageError, match="is no name of a run"):
            create_run(tmp_path, name, VALUES)
    assert list_runs(tmp_path) == []


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    create_run(tmp_path, "first", VALUES)
    with pytest.raises(UsageError, match=r"^there is a run first already: name another"):
        create_run(tmp_path, "first", VALUES)


def test_the_nearest_run_is_named_for_an_unknown(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no run contracts: there are no runs yet"):
        find_run(tmp_path, "contracts")
    create_run(tmp_path, "contracts-1", VALUES)
    with pytest.raises(NotFoundError, match=r"there is no run contract-1: do you mean contracts-1"):
        find_run(tmp_path, "contract-1")


def test_a_run_goes_on_as_long_as_it_is_locked(tmp_path: Path) -> None:
    folder = create_run(tmp_path, "first", {**VALUES, "state": "running"})
    with folder.locked():
        assert folder.read().state == "running"
        with pytest.raises(BusyError, match="run first is going on: wait for it"), folder.locked():
            pass
        with pytest.raises(BusyError):
            delete_run(folder)
    run = folder.read()
    assert (run.state, run.failure) == ("stopped", INTERRUPTED)


def test_a_look_at_a_run_does_not_keep_it_from_going_on(tmp_path: Path) -> None:
    folder = create_run(tmp_path, "first", VALUES)
    with FileLock(folder.path / ".lock") as looking:  # as `is_locked` does for a moment
        assert looking.try_exclude()
        timer = threading.Timer(0.05, looking.release)
        timer.start()
        with folder.locked():
            assert folder.is_locked()
        timer.join()


def test_a_run_whose_model_is_in_use_is_not_deleted(tmp_path: Path) -> None:
    folder = create_run(tmp_path, "first", VALUES)
    folder.update(adopted={"at": "now"})
    with pytest.raises(UsageError, match="ragkit tune adopt first --undo"):
        delete_run(folder)
    folder.update(adopted=None)
    delete_run(folder)
    assert list((tmp_path / "tune").iterdir()) == []


def test_a_damaged_description_is_named(tmp_path: Path) -> None:
    folder = create_run(tmp_path, "first", VALUES)
    folder.file.write_text("{", "utf-8")
    with pytest.raises(UsageError, match=r"run.json is damaged"):
        folder.read()
    folder.file.write_text(json.dumps({"format": 2}), "utf-8")
    with pytest.raises(UsageError, match=r"run.json is no run of format 1"):
        folder.read()


def test_the_last_checkpoint_is_the_newest_whole(tmp_path: Path) -> None:
    folder = create_run(tmp_path, "first", VALUES)
    assert folder.last_checkpoint() is None
    for step in (900_000, 1_000_000, 2_000_000):
        (folder.checkpoints / f"step-{step:06d}").mkdir()
    for step in (900_000, 1_000_000):  # the newest was not made by ragkit
        (folder.checkpoints / f"step-{step}" / "checkpoint.json").write_text("{}", "utf-8")
    assert folder.last_checkpoint() == folder.checkpoints / "step-1000000"
    assert RunFolder(tmp_path / "tune/none").last_checkpoint() is None


def test_a_run_that_made_nothing_gives_its_name_to_another(tmp_path: Path) -> None:
    for state in ("failed", "stopped", "running"):  # the last of a process that is gone
        old = create_run(tmp_path, "first", {**VALUES, "state": state})
        (old.path / "worker.log").write_text("old", "utf-8")
        check_new_name(tmp_path, "first")
        create_run(tmp_path, "first", VALUES)
        assert not (old.path / "worker.log").exists()
        delete_run(old)


@pytest.mark.parametrize("made", ["checkpoints/step-000002/checkpoint.json", "model/config.json"])
def test_a_run_that_made_something_is_never_replaced(tmp_path: Path, made: str) -> None:
    folder = create_run(tmp_path, "first", {**VALUES, "state": "failed"})
    (folder.path / made).parent.mkdir(parents=True)
    (folder.path / made).write_text("{}", "utf-8")
    with pytest.raises(UsageError, match=r"^there is a run first already: name another"):
        check_new_name(tmp_path, "first")
    with pytest.raises(UsageError, match=r"^there is a run first already: name another"):
        create_run(tmp_path, "first", VALUES)
    assert (folder.path / made).exists()


def test_a_run_that_goes_on_is_never_replaced(tmp_path: Path) -> None:
    folder = create_run(tmp_path, "first", {**VALUES, "state": "running"})
    with folder.locked(), pytest.raises(UsageError, match=r"^there is a run first already"):
        create_run(tmp_path, "first", VALUES)
