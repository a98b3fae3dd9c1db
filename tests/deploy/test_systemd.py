"""The systemd units: what systemd says of them, and that they start ragkit's own commands."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ragkit.settings.settings import Settings
from tests.commands import run
from tests.places import ROOT

UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
each_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)


def values(unit: Path, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit.read_text("utf-8"), re.MULTILINE)


def test_the_units_are_these() -> None:
    assert [unit.name for unit in UNITS] == [
        "ragkit-model.service",
        "ragkit-serve.service",
        "ragkit-worker.service",
    ]


@needs_systemd
@each_unit
def test_systemd_finds_nothing_wrong(unit: Path, tmp_path: Path) -> None:
    program = shutil.which("true")
    copied = tmp_path / unit.name
    copied.write_text(unit.read_text("utf-8").replace("/opt/ragkit/bin/ragkit", str(program)))
    done = subprocess.run(
        [str(ANALYZE), "verify", "--man=no", str(copied)], capture_output=True, text=True
    )
    said = [line for line in done.stderr.splitlines() if unit.name in line]
    assert (done.returncode, said) == (0, []), done.stderr


@needs_systemd
@each_unit
def test_systemd_counts_little_exposure(unit: Path) -> None:
    # From 0 to 10, as percent; what systemd's own manual calls OK ends at 4.9.
    command = [str(ANALYZE), "security", "--offline=true", "--threshold=35", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-600:]


@each_unit
def test_secrets_come_as_credentials(unit: Path) -> None:
    loaded = {value.partition(":")[0] for value in values(unit, "LoadCredential")}
    named = {}
    for line in values(unit, "Environment"):
        for variable, path in re.findall(r"(RAGKIT_\w+_FILE)=(\S+)", line):
            named[variable] = path
    assert named == {f"RAGKIT_{name.upper()}_FILE": f"%d/{name}" for name in loaded}
    assert "PASSWORD" not in unit.read_text("utf-8").upper()


@each_unit
def test_variables_are_settings(unit: Path) -> None:
    found = re.findall(r"\b(RAGKIT_\w+)=", "\n".join(values(unit, "Environment")))
    known = {f"RAGKIT_{name.upper()}" for name in Settings.model_fields}
    assert {name.removesuffix("_FILE") for name in found} <= known


@each_unit
def test_command_is_ragkits_own(unit: Path) -> None:
    (command,) = values(unit, "ExecStart")
    program, *arguments = command.split()
    assert program == "/opt/ragkit/bin/ragkit"
    options = {word for word in arguments if word.startswith("--")}
    words = [word for word in arguments if word in {"serve", "worker", "model"}]
    done = run(*words, "--help")
    assert done.returncode == 0
    assert [option for option in options if option not in done.stdout] == []


@each_unit
def test_service_ends_in_order_and_starts_again(unit: Path) -> None:
    assert values(unit, "Restart") == ["on-failure"]
    assert values(unit, "KillMode") == ["mixed"]  # a second signal would cut answers short
    (seconds,) = values(unit, "TimeoutStopSec")
    assert float(seconds) > Settings().serve_grace_s


def test_model_server_is_reached_from_this_machine_alone() -> None:
    model = UNITS[0]
    assert values(model, "IPAddressDeny") == ["any"]
    assert values(model, "IPAddressAllow") == ["localhost"]
    assert "--host" not in values(model, "ExecStart")[0]
