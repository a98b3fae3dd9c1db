"""One run at a time on a device."""

from pathlib import Path

import pytest

from ragkit.errors import BusyError
from ragkit_tune.run.devices import locked_devices, visible_devices


def test_runs_on_different_gpus_go_side_by_side(tmp_path: Path) -> None:
    with locked_devices(tmp_path, ("0",)), locked_devices(tmp_path, ("1", "2")):
        with pytest.raises(BusyError, match=r"^GPU 2 is in use by another run"):
            locked_devices(tmp_path, ("2", "3")).__enter__()
        with pytest.raises(BusyError, match=r"^this machine is in use by another run"):
            locked_devices(tmp_path, ()).__enter__()
    with locked_devices(tmp_path, ()):
        pass


def test_a_run_without_named_gpus_has_the_machine_alone(tmp_path: Path) -> None:
    with locked_devices(tmp_path, ()):
        for names in ((), ("0",)):
            with pytest.raises(BusyError, match=r"^this machine is in use by another run"):
                locked_devices(tmp_path, names).__enter__()


def test_the_gpus_are_those_that_cuda_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, names in (("", ()), ("-1", ()), ("1,0", ("0", "1")), ("GPU-8, 0", ("0", "GPU-8"))):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
        assert visible_devices() == names
