"""Environments: built once, linked afterwards, each with scripts of its own."""

import importlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

BUILD = ROOT / "environments" / "build.py"


def wheel(folder: Path, name: str) -> Path:
    """Write a wheel with one program, which says its name and where it is installed."""
    file = folder / f"{name}-1-py3-none-any.whl"
    members = {
        f"{name}.py": f"def main():\n    import sys\n    print('{name}', sys.prefix)\n",
        f"{name}-1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
        f"{name}-1.dist-info/WHEEL": (
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{name}-1.dist-info/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
        f"{name}-1.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(file, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    return file


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A list of one wheel, with a cache of the test's own."""
    monkeypatch.setenv("RAGKIT_ENVIRONMENTS", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    file = tmp_path / "alone.txt"
    file.write_text(f"{wheel(tmp_path, 'tiny')}\n")
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
    assert build(first, listed) == f"{first}: installing; this takes some minutes\n"
    assert run(first) == f"tiny {first}\n"
    assert "linked from" in build(second, listed)
    assert run(second) == f"tiny {second}\n"
    (installed,) = second.glob("lib/*/site-packages/tiny.py")
    assert installed.stat().st_nlink == 3  # in the cache and in both environments
    subprocess.run([second / "bin/python", "-m", "pip", "uninstall", "-qy", "tiny"], check=True)
    assert run(first) == f"tiny {first}\n"  # what one loses, the others keep
    assert "linked from" in build(second, listed)
    assert run(second) == f"tiny {second}\n"


@pytest.mark.long
def test_an_extra_is_installed_on_top_of_the_base(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_ENVIRONMENTS", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setattr(program, "ROOT", tmp_path)
    base, tool, folder = wheel(tmp_path, "tiny"), wheel(tmp_path, "tool"), tmp_path / "made"
    (tmp_path / "constraints.txt").write_text("tiny==1\n")
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nname = 'x'\ndependencies = ['tiny']\noptional-dependencies.dev = ['tool']\n"
    )
    program.main(folder)
    assert run(folder) == f"tiny {folder}\n"
    assert not (folder / "bin" / "tool").exists()
    base.unlink()  # it is in the cached environment, and not installed anew
    program.main(folder, "dev")
    assert run(folder) == f"tiny {folder}\n"
    assert (folder / "bin" / "tool").exists()
    tool.unlink()
    program.main(folder)
    assert not (folder / "bin" / "tool").exists()
    program.main(folder, "dev")
    assert (folder / "bin" / "tool").exists()


@pytest.mark.parametrize(
    ("target", "extra"),
    [("demo", False), ("venv", False), ("readme", False), ("test", True), ("lint", True)],
)
def test_only_targets_that_test_or_check_install_the_tools(target: str, extra: bool) -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", target],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "environments/build.py .venv\n" in done.stdout
    assert ("environments/build.py .venv dev\n" in done.stdout) == extra


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


def test_of_a_source_only_what_is_named_is_kept(program: Any, tmp_path: Path) -> None:
    archive = tmp_path / "tiny-1.tar.gz"
    names = ["vendor/tool/convert.py", "vendor/tool/lib/a.py", "vendor/tool/libs.py", "convert.py"]
    with tarfile.open(archive, "w:gz") as opened:
        for name in names:
            entry = tarfile.TarInfo(f"tiny-1/{name}")
            entry.size = 1
            opened.addfile(entry, io.BytesIO(b"#"))
    program.unpack(archive, "vendor/tool", ("convert.py", "lib"), tmp_path / "kept")
    kept = {str(file.relative_to(tmp_path / "kept")) for file in (tmp_path / "kept").rglob("*.py")}
    assert kept == {"convert.py", "lib/a.py"}


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


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BUILD.parent)
    return importlib.import_module("torch_build")


@pytest.mark.parametrize(
    ("chosen", "system", "card", "build"),
    [
        ("", "Linux", False, "cpu"),  # x86-64 and arm64 alike: the index has both
        ("", "Linux", True, "cuda"),
        ("", "Darwin", False, "cuda"),  # what pip takes by itself, which is for CPUs there
        ("cpu", "Linux", True, "cpu"),
        ("cuda", "Linux", False, "cuda"),
        ("https://mirror.example/whl/cpu", "Linux", True, "cpu"),
    ],
)
def test_the_build_of_torch(torch: Any, chosen: str, system: str, card: bool, build: str) -> None:
    assert torch.choose(chosen, system, card) == build


def test_an_unknown_build_of_torch_is_refused(torch: Any) -> None:
    with pytest.raises(SystemExit, match="RAGKIT_TORCH=gpu: choose cpu, cuda, or the address"):
        torch.choose("gpu", "Linux", False)


def test_another_build_of_torch_is_another_environment(program: Any) -> None:
    assert program.key([], "torch", "cpu") == program.key([], "torch")
    assert program.key([], "torch", "cuda") != program.key([], "torch", "cpu")


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pip that succeeds where an option is among its arguments, and writes them down."""
    monkeypatch.delenv("RAGKIT_TORCH", raising=False)
    log = tmp_path / "log"
    script = (
        "import json, sys\n"
        f"open({str(log)!r}, 'a').write(json.dumps(sys.argv[2:]) + '\\n')\n"
        "sys.exit(0 if sys.argv[1] in sys.argv[2:] else 'ERROR: No matching distribution')"
    )

    def make(option: str) -> tuple[list[str], Any]:
        read = lambda: [json.loads(line) for line in log.read_text().splitlines()]  # noqa: E731
        return [sys.executable, "-c", script, option], read

    return make


TORCH = ["--constraint", "c.txt", "torch>=2"]
ALONE = ["--no-deps", "--only-binary", ":all:"]
INDEX = ["--index-url", "https://download.pytorch.org/whl/cpu"]
IMPATIENT = ["--retries", "1", "--timeout", "15"]


def test_the_wheels_that_the_owner_keeps_come_first(torch: Any, pip: Any) -> None:
    command, log = pip("--no-index")
    assert torch.install_cpu_build(command, TORCH)
    assert log() == [[*ALONE, "--no-index", *TORCH]]


def test_torch_alone_comes_from_the_index_for_cpus(torch: Any, pip: Any) -> None:
    command, log = pip("--index-url")
    assert torch.install_cpu_build(command, TORCH)
    assert log()[1:] == [[*ALONE, *INDEX, *IMPATIENT, *TORCH]]


def test_another_index_can_be_named(torch: Any, pip: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGKIT_TORCH", "https://mirror.example/cpu")
    command, log = pip("--index-url")
    assert torch.install_cpu_build(command, TORCH)
    assert log()[1][3:5] == ["--index-url", "https://mirror.example/cpu"]


def test_without_the_index_pip_takes_its_own_build(
    torch: Any, pip: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    command, log = pip("--something-else")
    assert not torch.install_cpu_build(command, TORCH)
    assert len(log()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("https://download.pytorch.org/whl/cpu does not give torch's build")
    assert "several GB of CUDA libraries" in line
    assert "RAGKIT_TORCH" in line


def test_where_the_owner_chose_it_nothing_else_is_taken(
    torch: Any, pip: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_TORCH", "cpu")
    command, _ = pip("--something-else")
    with pytest.raises(SystemExit, match=r"whl/cpu does not give.*No matching distribution"):
        torch.install_cpu_build(command, TORCH)
