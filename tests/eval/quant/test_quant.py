"""Servers are asked the same items, their runs stay, and what they lose is told."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.errors import NotFoundError, RagkitError, UsageError
from ragkit.knowledge import build
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing import CORPUS, fill
from ragkit.testing.stub_server.server import StubServer, quote_first_source
from ragkit_eval.cli.main import app
from ragkit_eval.quant.cost import costs
from ragkit_eval.quant.models import Served
from ragkit_eval.quant.run import Manner, Questions, run_models
from ragkit_eval.sets import LabelledSet, Question
from tests.eval.endpoint.scripted import Asked, Reply, ScriptedServer, completion, letters
from tests.eval.run.fake import FakeTask, items
from tests.eval.runs import records, write_run
from tests.eval.tasks.conftest import PLAIN


def always_right(request: Asked) -> Reply:
    return letters(_A=-0.1, _B=-3.0)


def wrong_on_some(request: Asked) -> Reply:
    number = int(request.body["prompt"].split()[1].rstrip("?"))
    return letters(_A=-2.0, _B=-0.3) if number % 4 == 0 else always_right(request)


def test_two_servers_are_asked_the_same_items_and_nothing_twice(tmp_path: Path) -> None:
    questions = Questions((FakeTask(items(40)),))
    manner = Manner(tmp_path, Settings(home=tmp_path))
    with ScriptedServer(always_right) as base, ScriptedServer(wrong_on_some) as small:
        models = [Served(base.url, "", ""), Served(small.url, "tiny", "int4")]
        runs = run_models(models, questions, manner)
        (cost,) = costs([model_run.run for model_run in runs]).costs
        assert (base.count, small.count) == (40, 40)
        repeated = run_models(models, questions, manner)
        assert (base.count, small.count) == (40, 40)
    assert [model_run.files for model_run in repeated] == [model_run.files for model_run in runs]
    assert (cost.candidate, cost.items, cost.broken, cost.fixed) == ("int4", 40, 10, 0)
    assert cost.agreement == 0.75
    assert cost.rows[0].p == 2 / 2**10


def test_grounded_answers_are_asked_of_each_model(fresh_database: str, tmp_path: Path) -> None:
    settings = Settings(database_url=SecretStr(fresh_database), home=tmp_path)
    with open_database(settings) as database:
        fill(database.store(settings.tenant), build.embedder(settings), CORPUS)
    labelled = LabelledSet(
        "leave",
        {},
        tuple(
            Question(f"q{n}", "How many days of paid holiday?", answers=("28 days",))
            for n in range(4)
        ),
    )
    questions = Questions((), labelled, "default")

    def vague(messages: object) -> str:
        return "Nobody can say."

    with StubServer(quote_first_source) as base, StubServer(vague) as small:
        models = [Served(base.url, "stub", "full"), Served(small.url, "stub", "int4")]
        runs = run_models(models, questions, Manner(tmp_path, settings))
    (cost,) = costs([model_run.run for model_run in runs]).costs
    assert cost.task == "rag:leave"
    assert cost.agreement == 0.0
    assert cost.rows[0].metric == "answer_score"
    assert (cost.rows[0].a.mean, cost.rows[0].b.mean) == (1.0, 0.0)
    assert "127.0.0.1" not in runs[0].files[0].read_text()  # an address may hold a password


def test_servers_that_are_not_there_are_told_before_anything_is_asked(tmp_path: Path) -> None:
    questions = Questions((FakeTask(items(4)),))
    manner = Manner(tmp_path, Settings(home=tmp_path), timeout_s=5)
    with ScriptedServer(always_right) as base:
        with pytest.raises(NotFoundError, match="no model 'other'; it has tiny"):
            run_models([Served(base.url, "", ""), Served(base.url, "other", "")], questions, manner)
        gone = Served("http://127.0.0.1:9/v1", "tiny", "gone")
        with pytest.raises(RagkitError, match="refuses connections"):
            run_models([Served(base.url, "", ""), gone], questions, manner)
        with pytest.raises(UsageError, match="no questions for the models"):
            run_models([gone, gone], Questions(), manner)
        assert base.count == 0


def test_the_command_compares_run_files_and_writes_what_it_found(tmp_path: Path) -> None:
    base = write_run(tmp_path / "base.jsonl", records([1.0] * 20))
    small = write_run(tmp_path / "small.jsonl", records([1.0] * 12 + [0.0] * 8))
    run = CliRunner()
    out = tmp_path / "cost"
    printed = run.invoke(app, ["quant", str(base), str(small), "--out", str(out)])
    assert printed.exit_code == 0, printed.output
    assert printed.output.startswith("Base: base\n")
    assert "quiz, acc: small is worse by 0.400 (95% 0." in printed.output
    assert "| small | quiz | acc | 1.000 | 0.600 | -0.400 (" in (out / "quant.md").read_text()
    stored = json.loads((out / "quant.json").read_text())
    assert stored == json.loads(run.invoke(app, ["quant", str(base), str(small), "--json"]).output)
    assert stored["runs"] == [str(base), str(small)]


def test_the_command_asks_servers_a_task_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PLAIN)
    rows = [json.dumps({"question": f"{n}+1?", "answer": f"{n + 1}"}) for n in range(10)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))

    def add(request: Asked) -> Reply:
        return completion(str(int(request.body["prompt"].split("+")[0].split()[-1]) + 1))

    def fail(request: Asked) -> Reply:
        return completion("7") if request.number > 2 else Reply(status=400)

    task, out = str(tmp_path / "own.toml"), tmp_path / "out"
    with ScriptedServer(add) as base, ScriptedServer(fail, models=("small",)) as small:
        command = ["quant", base.url, f"int4={small.url}", "--task", task, "--out", str(out)]
        printed = CliRunner().invoke(app, [*command, "--concurrency", "1"])
    assert printed.exit_code == 3, printed.output  # two items ended in errors
    assert "own, exact_match: int4 is worse by 0." in printed.output
    assert "int4, own: of 10 items 2 ended in an error and count 0" in printed.output
    assert len(list(out.glob("*-tasks.jsonl"))) == 2


def test_slips_of_the_command_are_one_line(tmp_path: Path) -> None:
    run = CliRunner()
    base = str(write_run(tmp_path / "base.jsonl", records([1.0])))
    for arguments, message in (
        ([base, "http://127.0.0.1:9/v1#m"], "--out DIR"),
        ([base, "nothing"], "'nothing' is no address and no run file"),
        ([base, base], "named twice"),
    ):
        printed = run.invoke(app, ["quant", *arguments])
        assert isinstance(printed.exception, UsageError)
        assert message in str(printed.exception)
