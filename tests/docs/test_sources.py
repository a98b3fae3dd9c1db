"""The pages on where documents come from are followed literally: each command, what it prints.

Numbers that depend on the machine, times and scores, are not compared.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit.errors import RagkitError
from tests.places import ROOT

HOWTO = ROOT / "docs" / "howto"
PAGES = sorted(
    path
    for path in [HOWTO / "sources.md", *(HOWTO / "sources").glob("*.md")]
    if "```console" in path.read_text("utf-8")
)
SHOWN_AS = "/srv"  # the folder that the pages are followed in
_DEPENDS = (
    (re.compile(r"Time: \d+\.\d s"), "Time: N s"),
    (re.compile(r"score .*\)$", re.MULTILINE), "score N"),
    (re.compile(r"^\d+ of \d+ files.*\n", re.MULTILINE), ""),  # progress, on a slow machine
    (re.compile(r"  +"), "  "),  # columns are as wide as the longest path
    (re.compile(r" +$", re.MULTILINE), ""),
    (re.compile(r"\n\n+"), "\n"),
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_followed(
    page: Path, fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    monkeypatch.chdir(tmp_path)
    printed, shown = "", ""
    for command, output in _commands(page.read_text("utf-8")):
        shown += f"$ {command}\n{output}"
        printed += f"$ {command}\n" + _run(command, tmp_path)
    assert _plain(printed.replace(str(tmp_path), SHOWN_AS)) == _plain(shown)
    assert "ragkit ingest" in shown


def test_every_kind_of_place_has_a_page() -> None:
    index = (HOWTO / "sources.md").read_text("utf-8")
    linked = set(re.findall(r"\]\(sources/([\w-]+)\.md\)", index))
    assert linked == {path.stem for path in (HOWTO / "sources").glob("*.md")}
    assert len(linked) == 7


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of the page's consoles, here documents with it, and what it prints."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            heredoc = re.match(r"[^\n]*<<'(\w+)'\n.*?^\1\n", part, re.DOTALL | re.MULTILINE)
            end = heredoc.end() if heredoc else part.index("\n") + 1
            yield part[: end - 1], part[end:]


def _run(command: str, folder: Path) -> str:
    """Run a command; ragkit in this process, where its models are loaded already."""
    before, _, ragkit = command.rpartition("| ") if "| ragkit" in command else ("", "", command)
    words = [] if "<<" in ragkit else shlex.split(ragkit)
    settings = {}
    while words and re.match(r"\w+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        settings[name] = value
    if words[:1] != ["ragkit"]:
        return _shell(command, folder).decode()
    done = CliRunner().invoke(
        app, words[1:], input=_shell(before, folder) if before else None, env=settings
    )
    if isinstance(done.exception, RagkitError):
        return f"ragkit: {done.exception}\n"
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output


def _shell(command: str, folder: Path) -> bytes:
    return subprocess.run(["bash", "-c", command], cwd=folder, check=True, stdout=-1).stdout


def _plain(text: str) -> str:
    """Take out what differs from machine to machine."""
    for pattern, instead in _DEPENDS:
        text = pattern.sub(instead, text)
    return text.strip()
