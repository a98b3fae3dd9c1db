"""`ragkit eval score` as it is typed: scores, run files, and one line for each bad input."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ragkit.errors import NotFoundError, RagkitError, UsageError
from ragkit_eval.cli.main import app
from ragkit_eval.metrics.function_metric import FunctionMetric
from ragkit_eval.run.record import read_run
from ragkit_eval.score.predictions import read_predictions
from ragkit_eval.score.score import score_texts

ROWS: list[dict[str, Any]] = [
    {"id": "a", "prediction": "It was in Paris, in 1783.", "references": ["Paris, 1783", "Rome"]},
    {"id": "b", "prediction": "红楼梦是曹雪芹写的", "reference": "曹雪芹", "group": "zh"},
    {"id": 3, "prediction": "", "answers": ["nothing of it"], "question": "What?"},
]


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(app, ["score", *map(str, arguments)])
    if isinstance(result.exception, RagkitError):
        raise result.exception
    return result


def lines(path: Path, rows: list[Any]) -> Path:
    written = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in written), encoding="utf-8")
    return path


def scores(result: Result, metric: str) -> list[float]:
    return [item[metric] for item in json.loads(result.stdout)["scores"]]


def test_the_default_is_reference_recall(tmp_path: Path) -> None:
    result = run(lines(tmp_path / "p.jsonl", ROWS), "--json")
    assert result.exit_code == 0
    values = json.loads(result.stdout)
    assert values["items"] == 3
    assert scores(result, "reference_recall") == [1.0, 1.0, 0.0]
    metric = values["metrics"]["reference_recall"]
    assert metric["value"] == pytest.approx(2 / 3, abs=1e-6)
    assert metric["interval"][0] < metric["value"] < metric["interval"][1]
    assert metric["signature"].startswith("reference_recall|tok:")


def test_several_metrics_for_people(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", ROWS)
    result = run(path, "-m", "contains", "-m", "bleu", "-m", "rouge-1:recall", "--items")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["item", "contains", "bleu", "rouge-1:recall"] in rows
    assert ["b", "1.0000", "0.1775", "1.0000"] in rows
    assert "bleu: 1- to 4-gram precisions" in result.stdout
    assert "rouge-1|tok:words+cjk-characters-superscripts|" in result.stdout


def test_bleu_of_a_set_is_of_the_whole(tmp_path: Path) -> None:
    pairs = [("the cat sat on the mat", "the cat sat on a mat"), ("a dog ran home", "a dog ran")]
    path = lines(tmp_path / "p.jsonl", [{"prediction": p, "reference": r} for p, r in pairs])
    whole = json.loads(run(path, "-m", "bleu", "--json").stdout)["metrics"]["bleu"]
    # sacrebleu 2.6.0: corpus_bleu(predictions, [references]).score / 100
    assert whole["value"] == pytest.approx(0.5, abs=1e-6)
    assert whole["precisions"] == [8 / 10, 5 / 8, 3 / 6, 1 / 4]
    low, high = whole["interval"]
    assert 0 <= low <= whole["value"] <= high <= 1
    assert "|nrefs:1|tok:13a|" in whole["signature"]
    assert whole["mean_of_items"] != pytest.approx(whole["value"])


def test_csv_and_tsv(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(
        b"\xef\xbb\xbfid,prediction,references\r\n"
        b'1,"a, b\nc",a b c\r\n'
        b'2,hello,"[""hello"", ""hi""]"\r\n'
        b"\r\n3,[1],[1]\r\n"
    )
    result = run(path, "-m", "exact_match", "--json")
    assert scores(result, "exact_match") == [1, 1, 1]
    table = tmp_path / "p.tsv"
    table.write_text("prediction\treference\nx, y\tx y\n")
    assert scores(run(table, "-m", "exact_match", "--json"), "exact_match") == [1]


def test_references_of_another_file_are_joined_by_id(tmp_path: Path) -> None:
    made = lines(tmp_path / "p.jsonl", [{"id": 1, "text": "one"}, {"id": "2", "text": "two"}])
    wanted = lines(
        tmp_path / "r.jsonl",
        [{"id": "2", "gold": ["two"], "question": "?"}, {"id": "1", "gold": "uno"}],
    )
    named = ("--prediction-field", "text", "--reference-field", "gold", "-m", "contains")
    result = run(made, "--references", wanted, *named, "--json")
    assert scores(result, "contains") == [0, 1]
    (_, second) = read_run_of(tmp_path, made, "--references", wanted, *named)
    assert (second.question, second.targets, second.prediction) == ("?", ("two",), "two")


def test_without_ids_files_are_joined_line_by_line(tmp_path: Path) -> None:
    made = lines(tmp_path / "p.jsonl", [{"prediction": "x"}, {"prediction": "y"}])
    wanted = lines(tmp_path / "r.jsonl", [{"answers": ["x"]}, {"answers": ["z"]}])
    assert scores(run(made, "--references", wanted, "-m", "contains", "--json"), "contains") == [
        1,
        0,
    ]


def read_run_of(folder: Path, *arguments: object) -> Any:
    out = folder / "out.jsonl"
    assert run(*arguments, "--out", out).exit_code == 0
    return read_run(out).records


def test_the_run_file_can_be_compared(tmp_path: Path) -> None:
    """Two systems' predictions for the same references; other references are refused."""
    better = lines(tmp_path / "better.jsonl", ROWS)
    worse = lines(tmp_path / "worse.jsonl", [row | {"prediction": "Paris"} for row in ROWS])
    other = lines(tmp_path / "other.jsonl", [row | {"references": ["x"]} for row in ROWS])
    for path in (better, worse, other):
        out = tmp_path / f"{path.stem}.run"
        assert run(path, "-m", "contains", "-m", "rouge-l", "--out", out).exit_code == 0
    found = read_run(tmp_path / "better.run")
    (task,) = found.header.tasks
    assert (task.name, task.metric, task.items, found.header.name) == (
        "score",
        "contains",
        3,
        "better",
    )
    assert list(task.metrics) == ["contains", "rouge-l"]
    assert [record.status for record in found.records] == ["wrong", "ok", "wrong"]
    assert [record.group for record in found.records] == ["", "zh", ""]
    compared = ["compare", str(tmp_path / "better.run")]
    done = CliRunner().invoke(app, [*compared, str(tmp_path / "worse.run"), "--json"])
    assert done.exit_code == 0, done.output
    refused = CliRunner().invoke(app, [*compared, str(tmp_path / "other.run")])
    assert isinstance(refused.exception, UsageError)


def test_a_retrieval_run(tmp_path: Path, data: Path) -> None:
    folder = data / "oracles/trec_eval"
    out = tmp_path / "run.jsonl"
    result = run(
        folder / "results.test",
        "--qrels",
        folder / "qrels.test",
        "-m",
        "map",
        "-m",
        "ndcg@10",
        "--json",
        "--out",
        out,
    )
    values = json.loads(result.stdout)
    # trec_eval 9, out.test: map all 0.1785
    assert values["metrics"]["map"]["value"] == pytest.approx(0.1785, abs=5e-5)
    assert values["items"] == len(read_run(out).records) == 3
    assert read_run(out).header.tasks[0].metric == "map"


def test_the_list_names_metrics_and_measures() -> None:
    result = run("--list")
    assert result.exit_code == 0
    assert "rouge-lsum" in result.stdout
    assert "bpref" in result.stdout


BAD_LINES = [
    ("not json", r"p\.jsonl:2: not JSON"),
    ("[1]", r"p\.jsonl:2: not a JSON object but \[1\]"),
    ('{"id": "z", "references": ["a"]}', r"p\.jsonl:2: there is no 'prediction'"),
    (
        '{"id": "z", "prediction": NaN, "reference": "a"}',
        r"p\.jsonl:2: not JSON: NaN is not a JSON number",
    ),
    ('{"id": "z", "prediction": 4, "reference": "a"}', r"p\.jsonl:2: 'prediction' must be a text"),
    ('{"id": "z", "prediction": "a"}', r"p\.jsonl:2: there is no reference"),
    ('{"id": "z", "prediction": "a", "references": []}', r"p\.jsonl:2: 'references' must be"),
    ('{"id": "z", "prediction": "a", "reference": null}', r"p\.jsonl:2: 'reference' must be"),
    (
        '{"id": "a", "prediction": "x", "reference": "x"}',
        r"p\.jsonl:2: the id 'a' stands already at",
    ),
    ('{"prediction": "x", "reference": "x"}', r"p\.jsonl:2: 'id' must be .* on every line"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_bad_line_is_named_and_nothing_is_written(
    tmp_path: Path, line: str, message: str
) -> None:
    path = lines(tmp_path / "p.jsonl", [ROWS[0], line])
    with pytest.raises(UsageError, match=message):
        run(path, "--out", tmp_path / "out.jsonl")
    assert [one.name for one in tmp_path.iterdir()] == ["p.jsonl"]


BAD_TABLES = [
    ("prediction,reference\na,b,c\n", r"p\.csv:2: 3 fields where the first line names 2"),
    ("prediction,prediction\na,b\n", r"p\.csv:1: two columns are named 'prediction'"),
    ('prediction,reference\n"a\nb",c\n"x,y\n', r"p\.csv:4: not a line of CSV"),
    ("prediction,reference\n", r"p\.csv: there is no prediction in it"),
    ("", r"p\.csv: there is no prediction in it"),
]


@pytest.mark.parametrize(("text", "message"), BAD_TABLES)
def test_a_bad_table_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        run(path)


def test_files_that_do_not_match_are_refused(tmp_path: Path) -> None:
    made = lines(tmp_path / "p.jsonl", [{"id": "1", "prediction": "x"}])
    two = [{"id": "1", "reference": "x"}, {"id": "2", "reference": "y"}]
    with pytest.raises(UsageError, match=r"two\.jsonl:2: .* no prediction for 1 of 2 .* '2'"):
        run(made, "--references", lines(tmp_path / "two.jsonl", two))
    with pytest.raises(UsageError, match=r"p\.jsonl:1: .* has no reference with the id '1'"):
        run(made, "--references", lines(tmp_path / "r.jsonl", two[1:]))
    with pytest.raises(UsageError, match=r"has a field 'id' and .* has none"):
        run(made, "--references", lines(tmp_path / "r.jsonl", [{"reference": "x"}]))
    without = lines(tmp_path / "without.jsonl", [{"prediction": "x"}])
    unequal = lines(tmp_path / "r.jsonl", [{"reference": "x"}, {"reference": "y"}])
    with pytest.raises(UsageError, match=r"has 1 predictions and .* 2 references"):
        run(without, "--references", unequal)


def test_what_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"nowhere\.jsonl cannot be read"):
        run(tmp_path / "nowhere.jsonl")
    broken = tmp_path / "latin.jsonl"
    broken.write_bytes(b'{"prediction": "x", "reference": "x"}\n{"prediction": "\xe9"}\n')
    with pytest.raises(UsageError, match=r"latin\.jsonl:2: not UTF-8"):
        run(broken)
    with pytest.raises(UsageError, match="its folder does not exist"):
        run(lines(tmp_path / "p.jsonl", ROWS), "--out", tmp_path / "no" / "out.jsonl")


def test_unknown_names_are_answered_with_close_ones(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", ROWS)
    with pytest.raises(UsageError, match="did you mean bleu"):
        run(path, "-m", "blue")
    qrels, found = tmp_path / "qrels", tmp_path / "found"
    qrels.write_text("1 0 a 1\n")
    found.write_text("1 Q0 a 1 0.5 x\n")
    with pytest.raises(UsageError, match="did you mean ndcg@10"):
        run(found, "--qrels", qrels, "-m", "ndcg_cut_10")


def test_a_value_that_is_no_number_is_an_error(tmp_path: Path) -> None:
    rows = read_predictions(lines(tmp_path / "p.jsonl", ROWS))
    metric = FunctionMetric("odd", "odd|v:1", lambda p, rs: float("nan") if not p else 1.0)
    with pytest.raises(UsageError, match=r"p\.jsonl:3: odd is nan, no finite number"):
        score_texts(rows, [metric])


@pytest.mark.parametrize("arguments", [["--all-judged"], ["--qrels", "q", "--references", "r"]])
def test_options_that_do_not_go_together(tmp_path: Path, arguments: list[str]) -> None:
    assert run(lines(tmp_path / "p.jsonl", ROWS), *arguments).exit_code == 2


def test_the_run_file_never_replaces_what_is_read(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", ROWS)
    before = path.read_bytes()
    assert run(path, "--out", path).exit_code == 2
    assert run(path, "--out", tmp_path / "." / "p.jsonl").exit_code == 2
    assert path.read_bytes() == before


def test_half_a_character_does_not_stop_a_run_from_being_written(tmp_path: Path) -> None:
    given = tmp_path / "p.jsonl"
    given.write_text('{"id": "1", "prediction": "a \\ud800", "references": ["a"]}\n')
    run(given, "--out", tmp_path / "run.jsonl")
    (record,) = read_run(tmp_path / "run.jsonl").records
    assert (record.prediction, record.scores) == ("a ?", {"reference_recall": 1.0})
