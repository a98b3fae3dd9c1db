"""Samples of lm-evaluation-harness: what becomes of fields, filters and metrics, and bad logs."""

import json
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_eval.imported.harness import read_harness
from ragkit_eval.imported.read import read_logs
from tests.eval.imported.logs import choice_line, sum_line, write_results, write_samples


def test_a_multiple_choice(tmp_path: Path) -> None:
    path = write_samples(tmp_path, "rivers", [choice_line(0, 0), choice_line(1, 2)])
    write_results(tmp_path, "org/small", {"rivers": "1"})
    task = read_harness(path)
    assert (task.name, task.model, task.version, task.method) == (
        "rivers",
        "org/small",
        "1.0",
        "loglikelihood",
    )
    assert (
        task.metrics["acc"] == "acc|filter:none|task:rivers|v:1.0|shots:5|by:lm-evaluation-harness"
    )
    assert list(task.metrics) == ["acc", "acc_norm"]
    first, second = task.samples
    assert (first.prediction, first.targets, first.scores["acc"]) == ("Rhine", ("Rhine",), 1.0)
    assert (second.prediction, second.targets, second.scores["acc"]) == ("Ruhr", ("Elbe",), 0.0)
    assert second.question == "Which river flows through Dresden?"
    assert second.prompt == "Q: Which river flows through Dresden?\nA:"
    assert task.facts["imported_from"] == "lm-evaluation-harness 0.4.13"
    assert "secret" not in json.dumps(dict(task.facts))
    assert task.created == "2026-03-01T09:30:00+00:00"


def test_filters_of_a_document_are_metrics_of_one_item(tmp_path: Path) -> None:
    rows = [
        *(sum_line(number, "strict-match", 0.0, bleu=["4", "5"]) for number in (10, 9)),
        *(sum_line(number, "flexible-extract", 1.0, bleu=["4", "5"]) for number in (10, 9)),
    ]
    task = read_harness(write_samples(tmp_path, "sums", rows))
    assert [sample.item.id for sample in task.samples] == ["9", "10"]
    assert task.samples[0].scores == {
        "exact_match,strict-match": 0.0,
        "exact_match,flexible-extract": 1.0,
    }
    assert task.metric == "exact_match,strict-match"
    assert task.left_out == ("bleu,strict-match", "bleu,flexible-extract")
    assert task.method == "generate"
    assert (task.samples[0].output, task.samples[0].prediction) == ("I think #### 4", "4")


def test_truth_values_and_numbers_that_are_no_share(tmp_path: Path) -> None:
    rows = [sum_line(1, "none", 0.0, strict=True, chars=312), sum_line(2, "none", 1, strict=False)]
    task = read_harness(write_samples(tmp_path, "sums", rows))
    assert task.samples[0].scores == {"exact_match": 0.0, "strict": 1.0, "chars": 312.0}
    assert task.notes == ("sums: chars has no value for 1 of 2 items, which its mean leaves out",)


def test_a_value_that_is_not_finite_is_undefined(tmp_path: Path) -> None:
    rows = [sum_line(1, "none", float("nan")), sum_line(2, "none", 1.0), sum_line(3, "none", 0)]
    rows[2]["exact_match"] = 10**400
    task = read_harness(write_samples(tmp_path, "sums", rows))
    assert [dict(sample.scores) for sample in task.samples] == [{}, {"exact_match": 1.0}, {}]


def test_lines_of_versions_that_list_no_metrics(tmp_path: Path) -> None:
    row = choice_line(0, 0)
    row["arguments"] = [list(request.values()) for request in row["arguments"].values()]
    for name in ("metrics", "filter"):
        del row[name]
    (sample,) = read_harness(write_samples(tmp_path, "rivers", [row])).samples
    assert sample.scores == {"acc": 1.0, "acc_norm": 1.0}
    assert sample.prediction == "Rhine"


def test_a_metric_that_is_better_when_lower_becomes_negative(tmp_path: Path) -> None:
    """In a run higher is better, so that compare and gate read it the right way round."""
    path = write_samples(tmp_path, "sums", [sum_line(1, "none", 0.0, distance=3)])
    write_results(tmp_path, "m", {"sums": "1"}, higher_is_better={"sums": {"distance": False}})
    task = read_harness(path)
    (note,) = task.notes
    assert note == (
        "sums: distance is better when it is lower: -distance is its negative, so that higher is"
        " better"
    )
    (sample,) = task.samples
    assert sample.scores["-distance"] == -3
    assert "distance" not in task.metrics


def test_the_task_has_its_name_of_the_results(tmp_path: Path) -> None:
    path = write_samples(tmp_path, "set_rivers_long", [choice_line(0, 0)])
    write_results(tmp_path, "m", {"set/rivers-long": "2"})
    assert read_harness(path).name == "set/rivers-long"


def test_a_folder_of_one_model(tmp_path: Path) -> None:
    write_samples(tmp_path / "out" / "org__small", "rivers", [choice_line(0, 0)])
    write_samples(tmp_path / "out" / "org__small", "sums", [sum_line(1, "none", 1.0)])
    for folder in (tmp_path / "out", tmp_path / "out" / "org__small"):
        assert [task.name for task in read_logs([folder])] == ["rivers", "sums"]
    write_samples(tmp_path / "out" / "org__large", "rivers", [choice_line(0, 0)])
    with pytest.raises(UsageError, match=r"the logs of 2 models \(org__large, org__small\)"):
        read_logs([tmp_path / "out"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"has no samples_\*\.jsonl: run .* with --log_samples"):
        read_logs([tmp_path / "empty"])


BAD_LOGS = [
    (["not json"], r"\.jsonl:1: not JSON: .*: the log may be incomplete"),
    ([choice_line(0, 0), '{"doc_id": 1, "resps": ['], r"\.jsonl:2: not JSON"),
    (["[1]"], r"\.jsonl:1: not a JSON object"),
    ([choice_line(0, 0), {"id": 3}], r"\.jsonl:2: no 'doc_id' and 'resps'"),
    ([choice_line(0, 0), choice_line(0, 1)], r"\.jsonl:2: the document 0 .* already at .*:1: give"),
    (
        [sum_line(1, "a", 1.0), sum_line(2, "b", 1.0) | {"doc_id": 1}],
        r"\.jsonl:2: the document 1 is another one at .*:1",
    ),
    (['{"doc_id": ' + "[" * 100_000], r"\.jsonl:1: the JSON is nested too deeply"),
]


@pytest.mark.parametrize(("rows", "message"), BAD_LOGS)
def test_a_bad_line_is_named(tmp_path: Path, rows: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_logs([write_samples(tmp_path, "rivers", rows)])


def test_a_line_longer_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_samples(
        tmp_path, "rivers", [choice_line(0, 0), choice_line(1, 0) | {"x": "y" * 999}]
    )
    for name, message in (("LINE", "longer than"), ("LINES", "larger than")):
        with monkeypatch.context() as limits:
            limits.setattr(f"ragkit_eval.imported.json_text.MAX_{name}_BYTES", 1000)
            with pytest.raises(UsageError, match=rf"\.jsonl:2: the (line|log) is {message}"):
                read_harness(path)


def test_what_is_no_log(tmp_path: Path) -> None:
    empty = tmp_path / "samples_x.jsonl"
    empty.write_text("\n \n")
    with pytest.raises(UsageError, match="the log is empty"):
        read_logs([empty])
    with pytest.raises(UsageError, match="neither samples of lm-evaluation-harness nor a log of"):
        read_logs([write_results(tmp_path, "m", {"rivers": "1"})])
    with pytest.raises(UsageError, match=r"nowhere\.jsonl cannot be read"):
        read_logs([tmp_path / "nowhere.jsonl"])
