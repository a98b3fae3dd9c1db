"""The Dockerfiles by hand-made rules: no container engine is asked, and none builds them here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.places import ROOT

FILES = sorted((ROOT / "deploy").glob("*.Dockerfile"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def steps(path: Path) -> list[tuple[str, str]]:
    """Read the instructions, continued lines joined and comments left out."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    text = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [
        (word, rest) for word, _, rest in (line.partition(" ") for line in text.split("\n")) if word
    ]


def test_the_files_are_these() -> None:
    assert [path.name for path in FILES] == ["ragkit.Dockerfile", "vllm-cpu.Dockerfile"]


@each_file
def test_only_known_instructions_in_two_stages(path: Path) -> None:
    known = {"FROM", "ENV", "RUN", "WORKDIR", "COPY", "ARG", "USER", "EXPOSE", "CMD", "ENTRYPOINT"}
    assert {word for word, _ in steps(path)} <= known  # so no ADD
    bases = [rest for word, rest in steps(path) if word == "FROM"]
    assert len(bases) == 2
    for base in bases:
        assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+( AS build)?", base)


@each_file
def test_runs_as_nobodys_user_without_anything_after(path: Path) -> None:
    words = [word for word, _ in steps(path)]
    users = [rest for word, rest in steps(path) if word == "USER"]
    assert users == ["10001:10001"]
    assert set(words[words.index("USER") + 1 :]) <= {"EXPOSE", "CMD", "ENTRYPOINT"}


@each_file
def test_everything_installed_is_pinned(path: Path) -> None:
    installs = [
        part.strip()
        for word, rest in steps(path)
        if word == "RUN"
        for part in rest.split("&&")
        if "pip install" in part
    ]
    assert len(installs) == {"ragkit": 4, "vllm-cpu": 2}[path.stem]
    for command in installs:
        # tests/test_locks.py: every package of such a list has hashes.
        assert "--require-hashes" in command or "--no-index" in command, command
        assert "--no-deps" in command, command
        assert "--extra-index-url" not in command  # which of two indexes would win is not said
    assert "curl" not in path.read_text("utf-8")
    assert "latest" not in path.read_text("utf-8")


@each_file
def test_copied_files_are_there_and_not_ignored(path: Path) -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert "*" in ignored
    for word, rest in steps(path):
        if word == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists()
                assert f"!{source}" in ignored


def test_no_secret_gets_into_an_image() -> None:
    allowed = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    ]
    assert not [name for name in allowed if name.split("/")[0] in {"deploy", ".env", "models"}]


def test_the_whole_distribution_is_copied() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    copied = [rest.split()[0] for word, rest in steps(FILES[0]) if word == "COPY"]
    assert {package.split("/")[0] for package in wheel["packages"]} <= set(copied)
    assert set(wheel["force-include"]) <= set(copied)
    assert {project["project"]["readme"], *project["project"]["license-files"]} <= {
        name for word, rest in steps(FILES[0]) if word == "COPY" for name in rest.split()
    }
