"""`ragkit eval import` as it is typed: runs that compare, gate and report take."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ragkit.errors import RagkitError, UsageError
from ragkit_eval.cli.main import app
from ragkit_eval.run.record import read_run
from tests.eval.imported.logs import (
    choice_line,
    sample,
    sum_line,
    write_inspect,
    write_results,
    write_samples,
)


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(result.exception, RagkitError):
        raise result.exception
    return result


def harness_run(folder: Path, model: str, picked: list[int], **more: str) -> Path:
    """Import a log of the rivers, in which the model prefers these choices."""
    rows = [choice_line(number, place, **more) for number, place in enumerate(picked)]
    write_samples(folder / model, "rivers", rows)
    write_results(folder / model, model, {"rivers": "1"})
    out = folder / f"{model}.run"
    assert run("import", folder / model, "--out", out).exit_code == 0
    return out


def test_two_models_of_the_harness(tmp_path: Path) -> None:
    small, large = (
        harness_run(tmp_path, "small", [1, 1, 0]),
        harness_run(tmp_path, "large", [0, 1, 2]),
    )
    compared = json.loads(run("compare", small, large, "--json", "--metric", "acc").stdout)
    assert "acc" in json.dumps(compared)
    text = run("compare", small, large).stdout
    assert "rivers: acc over 3 items; exact McNemar" in text
    assert "2 items scored higher, 0 lower" in text
    gated = ("--metric", "acc", "--max-drop", "0.02")
    assert run("gate", "--baseline", small, "--candidate", large, *gated).exit_code == 0
    assert run("gate", "--baseline", large, "--candidate", small, *gated).exit_code == 1
    assert run("report", small, large, "--out", tmp_path / "report.html").exit_code == 0
    assert "Which river flows through Wuhan?" in (tmp_path / "report.html").read_text("utf-8")


def test_a_chat_template_does_not_make_other_questions(tmp_path: Path) -> None:
    plain = harness_run(tmp_path, "plain", [0, 1, 2])
    chat = harness_run(tmp_path, "chat", [0, 1, 2], prefix="<|user|>")
    assert run("compare", plain, chat).exit_code == 0


def test_other_questions_are_refused(tmp_path: Path) -> None:
    three, two = harness_run(tmp_path, "a", [0, 1, 2]), harness_run(tmp_path, "b", [0, 1])
    with pytest.raises(UsageError, match=r"rivers differs in .*prompt_hash .*items 3 and 2"):
        run("compare", three, two)
    other = tmp_path / "other.run"
    run("import", write_inspect(tmp_path / "log.json", [sample(1, "C")]), "--out", other)
    with pytest.raises(UsageError, match="no task in common"):
        run("compare", three, other)


def test_other_numbers_of_examples_are_refused(tmp_path: Path) -> None:
    runs = []
    for shots in (0, 5):
        folder = tmp_path / str(shots)
        write_samples(folder, "rivers", [choice_line(0, 0)])
        write_results(folder, "m", {"rivers": "1"}, **{"n-shot": {"rivers": shots}})
        runs.append(tmp_path / f"{shots}.run")
        run("import", folder, "--out", runs[-1])
    with pytest.raises(UsageError, match=r"shots:0.* and .*shots:5"):
        run("compare", *runs)


def test_two_models_of_inspect_with_epochs_and_an_error(tmp_path: Path) -> None:
    runs = []
    for model, values in (("small", "ICIC"), ("large", "CCCC")):
        logged = [
            sample(number // 2, value, epoch=number % 2 + 1) for number, value in enumerate(values)
        ]
        if model == "small":
            logged[2] |= {"error": {"message": "refused"}, "scores": {}}
            logged.reverse()  # in the order in which they ended
        runs.append(tmp_path / f"{model}.run")
        path = write_inspect(tmp_path / f"{model}.json", logged, model=f"mockllm/{model}")
        run("import", path, "--out", runs[-1])
    records = read_run(runs[0]).records
    assert [(record.id, record.status, record.cluster) for record in records] == [
        ("0#1", "wrong", "0"),
        ("0#2", "ok", "0"),
        ("1#1", "error", "1"),
        ("1#2", "ok", "1"),
    ]
    text = run("compare", *runs).stdout
    assert "match over 4 items in 2 clusters" in text
    assert "mockllm/small, lakes: of 4 items 1 ended in an error and count 0" in text


def test_several_tasks_make_one_run(tmp_path: Path) -> None:
    """What has no number for each item is named and left out, the task too."""
    text_row = sum_line(1, "none", 0.0) | {"exact_match": [-3.5, 7]}
    write_samples(tmp_path / "m", "perplexity", [text_row])
    write_samples(tmp_path / "m", "rivers", [choice_line(0, 0)])
    out = tmp_path / "m.run"
    result = run("import", tmp_path / "m", "--out", out, "--name", "mine")
    assert "perplexity: left out, because the log has no number" in result.stdout
    imported = read_run(out)
    assert [task.name for task in imported.header.tasks] == ["rivers"]
    assert (imported.header.name, imported.header.model["name"]) == ("mine", "m")
    assert json.loads(run("import", tmp_path / "m", "--out", out, "--json").stdout)[0] == {
        "task": "perplexity",
        "model": "",
        "items": 1,
        "errors": 0,
        "metrics": [],
        "left_out": ["exact_match"],
        "notes": [],
    }
    with pytest.raises(UsageError, match="no sample has a number as a score"):
        run("import", next((tmp_path / "m").glob("samples_perp*")), "--out", out)


def test_logs_that_do_not_go_together(tmp_path: Path) -> None:
    first = write_inspect(tmp_path / "a.json", [sample(1, "C")])
    second = write_inspect(tmp_path / "b.json", [sample(1, "C")])
    third = write_inspect(tmp_path / "c.json", [sample(1, "C")], model="other", task="ponds")
    out = tmp_path / "out.run"
    with pytest.raises(UsageError, match=r"b\.json: the task lakes stands already in .*a\.json"):
        run("import", first, second, "--out", out)
    with pytest.raises(UsageError, match=r"different models: .*import each as a run of its own"):
        run("import", first, third, "--out", out)
    assert not out.exists()


def test_the_run_never_replaces_a_log(tmp_path: Path) -> None:
    path = write_inspect(tmp_path / "a.json", [sample(1, "C")])
    before = path.read_bytes()
    assert run("import", path, "--out", path).exit_code == 2
    assert path.read_bytes() == before
