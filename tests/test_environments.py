"""Environments: built once, linked afterwards, each with scripts of its own."""

import importlib
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

BUILD = ROOT / "environments" / "build.py"
WHEEL = {
    "tiny.py": "def main():\n    import sys\n    print('tiny', sys.prefix)\n",
    "tiny-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n",
    "tiny-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tiny-1.dist-info/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n",
    "tiny-1.dist-info/RECORD": "",
}


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A list of one wheel, with a cache of the test's own."""
    monkeypatch.setenv("RAGKIT_ENVIRONMENTS", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with zipfile.ZipFile(tmp_path / "tiny-1-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    file = tmp_path / "alone.txt"
    file.write_text(f"{tmp_path}/tiny-1-py3-none-any.whl\n")
    return file


def build(folder: Path, wanted: Path) -> str:
    done = subprocess.run(
        [sys.executable, BUILD, folder, wanted], check=True, capture_output=True, text=True
    )
    return done.stdout


def run(folder: Path) -> str:
    done = subprocess.run([folder / "bin" / "tiny"], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.long
def test_the_second_environment_is_linked(listed: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert build(first, listed) == ""
    assert run(first) == f"tiny {first}\n"
    assert "linked from" in build(second, listed)
    assert run(second) == f"tiny {second}\n"
    (installed,) = second.glob("lib/*/site-packages/tiny.py")
    assert installed.stat().st_nlink == 3  # in the cache and in both environments
    subprocess.run([second / "bin/python", "-m", "pip", "uninstall", "-qy", "tiny"], check=True)
    assert run(first) == f"tiny {first}\n"  # what one loses, the others keep
    assert "linked from" in build(second, listed)
    assert run(second) == f"tiny {second}\n"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BUILD.parent)
    return importlib.import_module("build")


def test_other_requirements_are_another_environment(program: Any, tmp_path: Path) -> None:
    keys = {
        program.key(options, text)
        for options in ([], ["--no-deps"], ["--constraint", str(ROOT / "constraints.txt")])
        for text in ("a", "b")
    }
    assert len(keys) == 6
    changed = tmp_path / "constraints.txt"
    changed.write_text((ROOT / "constraints.txt").read_text("utf-8") + "# more\n")
    assert program.key(["--constraint", str(changed)], "a") not in keys


def test_the_two_newest_of_a_name_stay(program: Any, tmp_path: Path) -> None:
    (tmp_path / "made" / "bin").mkdir(parents=True)
    (tmp_path / "cache").mkdir()
    for n, name in enumerate(["vllm-1", "dev-1", "vllm-2", "vllm-3"]):
        program.store(tmp_path / "made", tmp_path / "cache" / name)
        os.utime(tmp_path / "cache" / name, (n, n))
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"dev-1", "vllm-2", "vllm-3"}


def test_extras_bring_their_own_and_those_that_they_name(program: Any) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    options, runtime = program.requirements("")
    assert options == ["--constraint", str(ROOT / "constraints.txt")]
    assert runtime.split("\n") == sorted(project["dependencies"])
    _, dev = program.requirements("dev")
    extras = project["optional-dependencies"]
    assert {*project["dependencies"], *extras["ocr"], *extras["ray"]} <= set(dev.split("\n"))
    assert "ragkit" not in dev
