"""What a candidate loses is counted on the same items: flips, agreement, scores, speed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.quant import cost_text
from ragkit_eval.quant.cost import costs, merged
from ragkit_eval.quant.models import FinishedRun, Served, ToServe, parse, with_labels
from ragkit_eval.run.record import Run, read_run
from tests.eval.runs import TASK, records, write_run


def answered(
    tmp_path: Path, name: str, values: Sequence[float | None], *, tokens: int, latency_s: float
) -> Run:
    items = [
        replace(item, usage={"completion_tokens": tokens}, prediction="A" if value else "B")
        for item, value in zip(records(values, latency_s=latency_s), values, strict=True)
    ]
    return read_run(write_run(tmp_path / f"{name}.jsonl", items))


def test_flips_agreement_and_speed_are_of_the_items_that_both_answered(tmp_path: Path) -> None:
    base = answered(tmp_path, "base", [1.0] * 6 + [0.0] * 4, tokens=10, latency_s=1.0)
    small = answered(
        tmp_path, "small", [1.0] * 4 + [0.0, 0.0, 1.0] + [0.0] * 2 + [None], tokens=8, latency_s=0.4
    )
    result = costs([base, small])
    (cost,) = result.costs
    assert (cost.items, cost.broken, cost.fixed) == (9, 2, 1)
    assert cost.agreement == pytest.approx(6 / 9)
    (row,) = cost.rows
    assert (row.metric, row.items) == ("acc", 10)  # the error counts 0
    assert row.difference.mean == pytest.approx(-0.1)
    assert cost.latency is not None
    assert cost.latency.ratio.mean == pytest.approx(0.4)
    assert cost.tokens_per_s is not None
    assert cost.tokens_per_s.ratio.mean == pytest.approx(2.0)
    (cells,) = cost_text.rows(result)
    assert cells[:5] == ["small", "quiz", "acc", "0.600", "0.500"]
    assert cells[7:] == ["2", "1", "66.7%", "0.40 x", "2.00 x"]
    assert "| small | quiz | acc | 0.600 | 0.500 | -0.100 (" in cost_text.markdown(
        result, ["a", "b"]
    )
    assert "small, quiz: of 10 items 1 ended in an error and count 0" in cost_text.sentences(result)
    assert cost_text.as_json(result)["costs"][0]["broken"] == 2


def test_one_token_answers_have_no_writing_speed(tmp_path: Path) -> None:
    runs = [answered(tmp_path, name, [1.0] * 4, tokens=1, latency_s=1.0) for name in ("a", "b")]
    (cost,) = costs(runs).costs
    assert cost.tokens_per_s is None
    assert cost_text.as_json(costs(runs))["costs"][0]["tokens_per_s"] is None


def test_answers_are_told_by_how_well_they_are_grounded_too(tmp_path: Path) -> None:
    task = replace(TASK, name="rag:set", method="rag", metric="answer_score", metrics={}, items=8)

    def answers(name: str, grounded: float) -> Run:
        items = [
            replace(item, scores={"answer_score": 1.0, "groundedness": grounded, "span_iou": 0.1})
            for item in records([1.0] * 8, task="rag:set")
        ]
        return read_run(write_run(tmp_path / f"{name}.jsonl", items, tasks=[task]))

    (cost,) = costs([answers("a", 1.0), answers("b", 0.5)]).costs
    assert [row.metric for row in cost.rows] == ["answer_score", "groundedness"]
    assert cost.rows[1].verdict == "worse"


def test_runs_of_one_model_are_read_as_one(tmp_path: Path) -> None:
    first = read_run(write_run(tmp_path / "a.jsonl", records([1.0])))
    second = read_run(
        write_run(
            tmp_path / "b.jsonl",
            records([0.0], task="exam"),
            tasks=[replace(TASK, name="exam", items=1)],
        )
    )
    run = merged([first, second])
    assert [task.name for task in run.header.tasks] == ["quiz", "exam"]
    assert (len(run.records), run.header.name) == (2, "a")
    with pytest.raises(UsageError, match="has a task twice: quiz, quiz"):
        merged([first, first])


def test_models_are_addresses_or_run_files(tmp_path: Path) -> None:
    url = "http://127.0.0.1:8000/v1"
    assert parse(f"{url}#org/qwen") == Served(url, "org/qwen", "org/qwen")
    assert parse(f"int4={url}#qwen").label == "int4"
    assert parse(url) == Served(url, "", "")
    run = write_run(tmp_path / "a=b.jsonl", records([1.0]))
    assert parse(str(run)) == FinishedRun(run)
    assert parse("int4=serve:org/qwen --dtype 'auto'") == ToServe(
        ("org/qwen", "--dtype", "auto"), "int4"
    )
    assert parse("serve:./models/qwen-awq").label == "qwen-awq"
    for wrong in ("serve:", "serve:--dtype auto", "serve:a 'b"):
        with pytest.raises(UsageError):
            parse(wrong)
    with pytest.raises(NotFoundError, match="'qwen' is no address and no run file"):
        parse("qwen")


def test_labels_are_made_to_differ() -> None:
    first, second = (Served(f"http://{host}/v1", "qwen", "qwen") for host in ("a", "b"))
    assert [m.label for m in with_labels([first, second]) if isinstance(m, Served)] == [
        "qwen (1)",
        "qwen (2)",
    ]
    with pytest.raises(UsageError, match="named twice"):
        with_labels([first, first])
