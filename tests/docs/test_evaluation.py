"""The commands of the evaluation's pages: each is understood, and those that can be are run."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.exceptions import TyperException

from ragkit_eval.cli.main import COMMANDS, app
from tests.commands import run
from tests.places import ROOT

DOCS = ROOT / "docs"
PAGES = (
    *(DOCS / "evaluation.md", DOCS / "metrics.md", DOCS / "evaluation-elsewhere.md"),
    *(DOCS / "howto" / f"{name}.md" for name in ("testset", "judge", "own-task")),
    ROOT / "eval" / "README.md",
    ROOT / "README.md",
    ROOT / "README.zh-CN.md",
)
# What these need is not here: a language model, or data that others publish.
OUTSIDE = ("eval run ", "eval quant ", "eval tasks ", "eval retrieval cranfield/", "cmrc2018_dev")
PREDICTIONS = (
    '{"id": 1, "prediction": "the cat sat", "references": ["the cat sat down"]}\n'
    '{"id": 2, "prediction": "猫坐下了", "references": ["猫坐下"]}\n'
)


def _blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def _commands(page: Path) -> Iterator[str]:
    """Yield the lines that call ragkit, from `ragkit` on, without comments."""
    for block in _blocks(page, "sh"):
        for line in block.splitlines():
            yield from re.findall(r"^(?:\w+=\S* )*(ragkit .*?)(?:\s+#.*)?$", line)


EVALUATIONS = [
    (page, line) for page in PAGES for line in _commands(page) if line.startswith("ragkit eval ")
]


def test_the_pages_have_commands() -> None:
    assert {page.name for page, _ in EVALUATIONS} >= {
        *("evaluation.md", "testset.md", "judge.md", "own-task.md")
    }
    assert len(EVALUATIONS) >= 25


@pytest.mark.parametrize(
    ("page", "line"),
    EVALUATIONS,
    ids=[f"{page.stem}:{number}" for number, (page, _) in enumerate(EVALUATIONS)],
)
def test_a_command_is_understood(page: Path, line: str) -> None:
    _parse(shlex.split(line)[2:])


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "docs" in page.parts], ids=lambda page: page.stem
)
def test_what_the_prose_calls_an_option_is_one(page: Path) -> None:
    """In running text: `--option`, or `ragkit eval NAME --option`."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    known = {
        option
        for name in COMMANDS
        for parameter in _command(name).params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    named = {option for code in re.findall(r"`([^`\n]+)`", prose) for option in _options(code)}
    assert named - known - {"--quantization"} == set()  # that one is of `ragkit model serve`


def test_an_option_that_is_not_there_is_noticed() -> None:
    with pytest.raises(TyperException) as raised:
        _parse(["gate", "--baseline", "a", "--candidate", "b", "--max-dorp", "0.1"])
    assert "--max-dorp" in str(raised.value.args or raised.value)


@pytest.mark.long
def test_the_examples_of_the_page_run_in_their_order(fresh_database: str, tmp_path: Path) -> None:
    """Every command of docs/evaluation.md that needs no language model and no outside data."""
    page = DOCS / "evaluation.md"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "grid.toml").write_text(_blocks(page, "toml")[0], encoding="utf-8")
    (tmp_path / "predictions.jsonl").write_text(PREDICTIONS, encoding="utf-8")
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n", encoding="utf-8")
    (tmp_path / "run.trec").write_text("1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n", encoding="utf-8")
    printed = {}
    for line in _commands(page):
        if any(name in line for name in OUTSIDE):
            continue
        if " gate " in line:  # the runs of main and of a branch
            shutil.copy(tmp_path / "hybrid.jsonl", tmp_path / "main.jsonl")
            shutil.copy(tmp_path / "words.jsonl", tmp_path / "branch.jsonl")
        printed[line] = _run(shlex.split(line)[1:], fresh_database, tmp_path)
    said = "\n".join(printed.values())
    assert "50 questions about 14 of 14 documents (by rules)" in said
    assert "Baseline: extractive, hybrid" in said
    assert "Gate passed." in said
    assert "No significant winner" in said
    assert re.search(r"^rouge-l +0\.8571 ", said, re.MULTILINE)
    assert re.search(r"^ndcg@10 +0\.6309 ", said, re.MULTILINE)
    assert len(printed) == 10
    # The two lines that the page shows of a set of one's own: one is answered, one refused.
    (lines,) = _blocks(page, "json")
    (tmp_path / "own.jsonl").write_text(lines, encoding="utf-8")
    told = json.loads(_run(["eval", "rag", "own.jsonl", "--json"], fresh_database, tmp_path))
    assert told["scores"]["span_recall"]["mean"] == 1.0
    assert told["scores"]["answer_score"]["mean"] == 1.0
    for name in ("report.html", "gate.xml", "gate.md", "sweep/sweep.md", "sweep/sweep.json"):
        assert (tmp_path / name).stat().st_size > 0


def _command(name: str) -> Any:
    group: Any = typer.main.get_command(app)
    command = group.get_command(None, name)
    assert command is not None, f"there is no 'ragkit eval {name}'"
    return command


def _parse(words: list[str]) -> None:
    """Parse a command without running it. Raises TyperException for what it does not take."""
    name, *rest = words
    _command(name).make_context(name, rest)


def _options(code: str) -> list[str]:
    others = re.match(r"ragkit (?!eval )", code)
    return [] if others else re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)


def _run(words: list[str], database: str, folder: Path) -> str:
    places = {"RAGKIT_DATABASE_URL": database, "RAGKIT_HOME": str(folder / "home")}
    result = run(*words, folder=folder, environment=places)
    assert result.returncode == 0, (words, result.stderr)
    return result.stdout
