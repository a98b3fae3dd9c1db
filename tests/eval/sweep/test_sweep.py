"""A small sweep over the real database: run files that stay, a verdict, collections of its own."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.errors import SettingsError, UsageError
from ragkit.knowledge import build
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing import CORPUS, fill, new_document
from ragkit_eval.cli.main import app
from ragkit_eval.run.record import read_run
from ragkit_eval.sets import LabelledSet, Question
from ragkit_eval.sweep import collections
from ragkit_eval.sweep.grid import Grid, read_grid
from ragkit_eval.sweep.run import sweep
from tests.commands import run
from tests.eval.endpoint.scripted import ScriptedServer, error

LINES = [
    {"question": "How many days of paid holiday?", "answers": ["28 days"], "group": "leave"},
    {"question": "When do unused days lapse?", "answers": ["March"], "group": "march"},
    {"question": "What is triangular?", "answers": ["A delta wing"], "group": "wing"},
    {"question": "How long was the first flight?", "answers": ["12 minutes"], "group": "flight"},
    {"question": "国内航班乘坐什么舱？", "answers": ["经济舱"], "group": "舱"},
    {"question": "What does a banana cost?", "answerable": False, "group": "banana"},
]


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path) -> Settings:
    """Settings of a database that has the fakes' three documents in the collection "default"."""
    settings = Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")
    with open_database(settings) as database:
        fill(database.store(settings.tenant), build.embedder(settings), CORPUS)
    return settings


def test_the_command_tries_cells_and_goes_on_where_it_was(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.database_url is not None
    monkeypatch.setenv("RAGKIT_DATABASE_URL", settings.database_url.get_secret_value())
    questions = tmp_path / "set.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    grid = tmp_path / "grid.toml"
    grid.write_text('[grid]\nmode = ["hybrid", "lexical"]\npassages = [1, 2]\n', encoding="utf-8")
    out = tmp_path / "out"
    command = ["sweep", str(questions), "--grid", str(grid), "--out", str(out)]
    said = CliRunner().invoke(app, command)
    assert said.exit_code == 0, said.output
    assert "3 questions to choose with, 3 to confirm on, by answer_score" in said.output
    assert "No significant winner" in said.output
    runs = {path.name: path.read_bytes() for path in sorted(out.glob("*.jsonl"))}
    assert sum(name.startswith("choose-") for name in runs) == 4
    kept = json.loads((out / "sweep.json").read_text(encoding="utf-8"))
    assert (kept["verdict"], kept["winner"]) == ("no significant winner", None)
    assert kept["cells"][0]["options"] == {"mode": "hybrid", "passages": 1}
    assert (out / "sweep.md").read_text(encoding="utf-8").startswith("## Sweep by answer_score")
    again = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert again["says"] == kept["says"]
    assert {path.name: path.read_bytes() for path in sorted(out.glob("*.jsonl"))} == runs


def test_questions_in_another_language_are_told_once(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_database(settings) as database:
        chinese = replace(
            new_document("灯塔.md", "灯塔建于1903年。灯塔高三十二米。"), language="zh"
        )
        fill(database.store("default"), build.embedder(settings), [chinese], collection="zh")
    texts = ["How high is the tower?", "Who paid for it?", "Is the tower open?", "Is it of stone?"]
    labelled = LabelledSet(
        "tower", {}, tuple(Question(one, one, answerable=False, group=one) for one in texts)
    )
    (tmp_path / "grid.toml").write_text("[grid]\npassages = [1, 2]\n", encoding="utf-8")
    grid = read_grid(tmp_path / "grid.toml")
    sweep(grid, labelled, tmp_path / "out", settings, collection="zh", samples=100)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(set(lines)) == 1
    assert lines[0].startswith("ragkit: note: 2 of 2 questions are asked in another language")
    for path in (tmp_path / "out").glob("*.jsonl"):
        assert read_run(path).header.notes == (lines[0].removeprefix("ragkit: note: "),)


def test_answers_written_at_another_temperature_are_another_run(
    settings: Settings, tmp_path: Path
) -> None:
    questions = tuple(
        Question(f"q{n}", f"How many days of paid holiday in {n}?", answers=("28 days",))
        for n in range(4)
    )
    grid = Grid({"passages": (1, 2)})
    with ScriptedServer(lambda _: error(400, "not today")) as server:
        served = {"llm_url": server.url, "llm_model": "tiny"}
        for temperature, said in ((0.0, "not today"), (0.7, "another run: model decoding was")):
            asked = settings.model_copy(update={**served, "llm_temperature": temperature})
            with pytest.raises(UsageError, match=said):
                sweep(grid, LabelledSet("set", {}, questions), tmp_path / "out", asked)


def labelled(documents: dict[str, str]) -> LabelledSet:
    questions = tuple(
        Question(f"q{n}", f"Where is town {n}?", answers=(f"valley {n}",), relevant={f"t{n}": 1})
        for n in range(4)
    )
    return LabelledSet("towns", documents, questions)


class InProcess:
    """Stand in for `subprocess`: run `ragkit` here, which saves the seconds of its imports."""

    PIPE = subprocess.PIPE

    def __init__(self) -> None:
        self.commands: list[list[str]] = []

    def run(
        self, command: list[str], *, stdout: int, text: bool, check: bool, env: Mapping[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        assert (command[:3], stdout, text, check) == (
            [sys.executable, "-m", "ragkit"],
            *(self.PIPE, True, False),
        )
        self.commands.append(command[3:])
        result = run(*command[3:], environment=env)
        return subprocess.CompletedProcess(command, result.returncode, result.stdout)


def test_options_that_store_anew_get_collections_of_their_own(
    fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = InProcess()
    monkeypatch.setattr(collections, "subprocess", programs)
    settings = Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")
    towns = {
        f"t{n}": f"Town {n} lies in valley {n}. " + f"Its people grow kind {n} of apple. " * 30
        for n in range(4)
    }
    grid = Grid({"chunk_tokens": (250, 32)}, task="retrieval")
    done = sweep(grid, labelled(towns), tmp_path / "out", settings)
    assert len(done.collections) == 2
    assert done.questions == (2, 2)
    with open_database(settings) as database:
        chunks = {one.name: one.chunks for one in database.store(settings.tenant).collections()}
    large, small = (chunks[name] for name in done.collections)
    assert small > 3 * large > 0
    again = sweep(grid, labelled(towns), tmp_path / "out", settings)
    assert again.outcome.runs[0].records == done.outcome.runs[0].records
    assert [command[0] for command in programs.commands] == ["ingest"] * 4


def test_what_cannot_be_swept_is_said_before_anything_runs(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    stores = Grid({"chunk_tokens": (64, 128)}, task="retrieval")
    with pytest.raises(UsageError, match="chunk_tokens: the documents have to be ingested"):
        sweep(stores, labelled({}), tmp_path / "out", settings)
    with pytest.raises(UsageError, match="leave --collection mine out"):
        sweep(stores, labelled({"t0": "text"}), tmp_path / "out", settings, collection="mine")
    wrong = Grid({"llm_temperature": (0, 99)})
    with pytest.raises(SettingsError, match="the cell llm_temperature=99 cannot be used"):
        sweep(wrong, labelled({}), tmp_path / "out", settings)
    assert not (tmp_path / "home").exists()


def test_a_threshold_needs_a_fitted_cut_off(settings: Settings, tmp_path: Path) -> None:
    grid = Grid({"refusal_threshold": (0, 0.5)})
    with pytest.raises(UsageError, match="fit one with 'ragkit eval calibrate'"):
        sweep(grid, labelled({"x": "y"}), tmp_path / "out", settings, collection="default")
