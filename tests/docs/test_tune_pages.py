"""The pages about training: plans are printed as they stand there, examples run, commands parse."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main
from typer.exceptions import TyperException
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit_tune.cli import app as tune_app
from ragkit_tune.data.data_set import write_data_set
from tests.core.model_size.configs import ENCODERS, KNOWN
from tests.places import ROOT

HOWTO: Final = ROOT / "docs/howto"
PLANS: Final = (HOWTO / "tune-24gb.md", HOWTO / "tune-several-gpus.md")
PAGES: Final = (HOWTO / "tune.md", HOWTO / "tune-failures.md", *PLANS)
PAIR: Final = {
    **{"id": "a", "query": "What?", "positive": "That."},
    **{"document": "file:a", "start": 0, "end": 5},
}
CHAT: Final = {"id": "a", "messages": [{"role": "user", "content": "What?"}]}
# The rows of the table at the top of the page for 24 GB: what stands there, and the plan of it.
PEAKS: Final = {
    "13.4": ("embedder", "models/bge-m3", "rows", ["-o", "max_tokens=512"]),
    "15.2": ("embedder", "models/bge-m3", "rows", ["-o", "max_tokens=512", "-o", "batch=128"]),
    "17.5": ("reranker", "models/bge-m3", "rows", ["-o", "max_tokens=512"]),
    "15.6": ("adapter", "models/Qwen3-8B", "chats", ["--bits", "4"]),
    "20.6": ("adapter", "models/Qwen3-8B", "chats", []),
}


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the configurations and rows that the pages name, and no weights."""
    known = {"bge-m3": ENCODERS["BAAI/bge-m3"], "Qwen3-8B": KNOWN["Qwen/Qwen3-8B"]}
    for name, model in known.items():
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").write_text(json.dumps(model.config), "utf-8")
    write_data_set(tmp_path / "rows", "pairs", {"train": [PAIR] * 10_000}, {})
    write_data_set(tmp_path / "chats", "chat", {"train": [CHAT] * 2_000}, {})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan(words: list[str], code: int = 0) -> list[str]:
    """Return what a plan prints, without spaces at the ends of its lines."""
    done = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["tune", "plan", *words])
    assert done.exit_code == code, done.output
    return [line.rstrip() for line in done.output.splitlines()]


def shown(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a page that a block of its output follows, and the lines of that."""
    text = page.read_text("utf-8")
    for commands, output in re.findall(r"```sh\n([^`]+)```\n\n```text\n([^`]+)```", text):
        yield commands.strip().splitlines()[-1], output.rstrip("\n").splitlines()


@pytest.mark.parametrize("page", PLANS, ids=lambda page: page.stem)
@pytest.mark.usefixtures("models")
def test_the_plans_are_printed_as_the_page_shows_them(page: Path) -> None:
    blocks = list(shown(page))
    assert len(blocks) >= 2
    for command, lines in blocks:
        words = shlex.split(command)
        assert words[:3] == ["ragkit", "tune", "plan"]
        assert plan(words[3:])[: len(lines)] == lines


@pytest.mark.usefixtures("models")
def test_the_table_of_several_cards_is_that_of_the_plan() -> None:
    page = PLANS[1].read_text("utf-8")
    (table,) = re.findall(r"```text\n(full ddp[^`]+)```", page)
    adapter = ["adapter", "--base", "models/Qwen3-8B", "--data", "chats", "--gpu", "24GB"]
    printed = plan(adapter)
    assert [line for line in table.splitlines() if line not in printed] == []


@pytest.mark.parametrize("peak", PEAKS)
@pytest.mark.usefixtures("models")
def test_the_peaks_of_24_gb(peak: str) -> None:
    kind, base, data, options = PEAKS[peak]
    words = [kind, "--base", base, "--data", data, "--gpu", "24GB", "--json", *options]
    bytes_of_peak = json.loads("\n".join(plan(words)))["step"]["peak_bytes"]
    assert f"{bytes_of_peak / 2**30:.1f}" == peak
    assert f"| {peak} GiB |" in PLANS[0].read_text("utf-8")


@pytest.mark.usefixtures("models")
def test_what_does_not_fit_24_gb() -> None:
    words = ["adapter", "--base", "models/Qwen3-8B", "--data", "chats", "--gpu", "24GB"]
    printed = plan([*words, "-o", "parameters=full"], code=1)
    assert any("needs 142.6 GiB at least" in line for line in printed)
    assert "does not fit: 142.6 GiB" in PLANS[0].read_text("utf-8")


def test_the_example_of_the_formulas_is_what_the_code_computes() -> None:
    page = ROOT / "docs/tune-formulas.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 10
    assert result.failed == 0


def commands(page: Path) -> Iterator[str]:
    """Yield the commands of `ragkit tune` in a page: its shell blocks, without comments."""
    for block in re.findall(
        r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    ):
        for line in block.splitlines():
            yield from re.findall(r"^(?:\w+=\S* )*ragkit tune (.*?)(?:\s+#.*)?$", line)


COMMANDS: Final = [(page, line) for page in PAGES for line in commands(page)]


@pytest.mark.parametrize(
    ("page", "line"), COMMANDS, ids=[f"{p.stem}:{n}" for n, (p, _) in enumerate(COMMANDS)]
)
def test_a_command_is_understood(page: Path, line: str) -> None:
    parse(shlex.split(line))


def test_an_option_that_is_not_there_is_noticed() -> None:
    assert len(COMMANDS) >= 15
    with pytest.raises(TyperException):
        parse(["plan", "embedder", "--gqu", "24GB"])


def parse(words: list[str]) -> None:
    """Parse a command without running it. Raises TyperException for what it does not take."""
    command: Any = typer.main.get_command(tune_app)
    context: Any = None
    while hasattr(command, "get_command"):
        name, *words = words
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name}"
    command.make_context(command.name, words)
