"""Runs are paired by item, different questions are refused, and the words say what was found."""

import json
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragkit.errors import UsageError
from ragkit_eval.cli.main import app
from ragkit_eval.compare.compare import Comparison, compare
from ragkit_eval.compare.compare_text import as_json, lines, markdown, sentence
from ragkit_eval.compare.gate import gate
from ragkit_eval.metrics.registry import text_metric
from ragkit_eval.run.record import Run, TaskHeader, read_run
from ragkit_eval.run.summary import summarise
from ragkit_eval.score.predictions import Prediction
from ragkit_eval.score.score import run_lines, score_texts
from ragkit_eval.stats.bootstrap import Interval
from tests.eval.runs import TASK, records, run_of, write_run


@pytest.fixture
def better(tmp_path: Path) -> Comparison:
    """A candidate that is right on 12 items more, and wrong on 2 more, of 60."""
    a = run_of(tmp_path / "a.jsonl", [1.0] * 30 + [0.0] * 30)
    b = run_of(tmp_path / "b.jsonl", [0.0] * 2 + [1.0] * 28 + [1.0] * 12 + [0.0] * 18)
    return compare([a, b])


def test_right_and_wrong_is_judged_by_mcnemars_exact_test(better: Comparison) -> None:
    (row,) = better.rows
    assert (row.baseline, row.candidate, row.items, row.clusters) == ("a", "b", 60, 60)
    assert (row.a.mean, row.better, row.worse) == (0.5, 12, 2)
    assert row.b.mean == pytest.approx(2 / 3)
    assert row.difference.mean == pytest.approx(10 / 60)
    assert 0 < row.difference.low < row.difference.mean < row.difference.high
    # 2 * (1 + 14 + 91) / 2**14: scipy.stats.binomtest(2, 14).pvalue
    assert row.p == pytest.approx(0.012939453125)
    assert row.test == "exact McNemar"
    assert row.verdict == "better"
    assert 0.1 < row.detectable < 0.2


def test_it_says_who_is_better_and_by_how_much(better: Comparison) -> None:
    said = sentence(better.rows[0])
    assert said.startswith("b is better by 0.167 (95% 0.0")
    assert said.endswith(", p = 0.013")


def test_it_says_what_the_data_can_show_where_nothing_is_found(tmp_path: Path) -> None:
    a = run_of(tmp_path / "a.jsonl", [1.0, 0.0] * 20)
    b = run_of(tmp_path / "b.jsonl", [1.0, 0.0] * 19 + [0.0, 1.0])
    (row,) = compare([a, b]).rows
    assert row.verdict == "no significant difference"
    assert sentence(row).startswith("no significant difference: 0.000 (95% -")
    assert sentence(row).endswith("p = 1; this data shows differences of 0.150 or more")


def test_identical_runs_and_single_items_have_an_answer(tmp_path: Path) -> None:
    a = run_of(tmp_path / "a.jsonl", [1.0, 0.0] * 20)
    b = run_of(tmp_path / "b.jsonl", [1.0, 0.0] * 20)
    (row,) = compare([a, b]).rows
    assert (row.p, row.difference) == (1.0, Interval(0.0, 0.0, 0.0))
    assert sentence(row) == (
        "no difference in any of 40 items; this data shows differences of 0.150 or more"
    )
    one = run_of(tmp_path / "one.jsonl", [1.0])
    other = run_of(tmp_path / "other.jsonl", [0.0])
    (row,) = compare([one, other]).rows
    assert row.verdict == "no significant difference"
    assert "too few independent items (1) to show any" in sentence(row)
    assert as_json(compare([one, other]))["rows"][0]["detectable"] is None


def test_scores_and_shared_passages_are_judged_by_flipping_signs(tmp_path: Path) -> None:
    graded = [
        run_of(tmp_path / f"{name}.jsonl", [0.5 + step * 0.1] * 8)
        for name, step in (("a", 0), ("b", 1))
    ]
    (row,) = compare(graded).rows
    assert row.test == "sign-flip permutation"
    assert row.p == 2 / 2**8
    clusters = [str(number // 2) for number in range(16)]
    shared = [
        run_of(tmp_path / f"{name}.jsonl", [value] * 16, clusters=clusters)
        for name, value in (("c", 0.0), ("d", 1.0))
    ]
    (row,) = compare(shared).rows
    assert (row.test, row.items, row.clusters) == ("sign-flip permutation of clusters", 16, 8)
    assert row.p == 2 / 2**8


def test_errors_count_zero_and_missing_items_are_counted_and_left_out(tmp_path: Path) -> None:
    tasks = [replace(TASK, items=5)]
    a = write_run(tmp_path / "a.jsonl", records([1.0, 1.0, 1.0, 0.0]), tasks=tasks)
    b = write_run(tmp_path / "b.jsonl", records([1.0, None, 1.0, 0.0, 1.0]), tasks=tasks)
    comparison = compare([read_run(a), read_run(b)])
    (row,) = comparison.rows
    assert (row.items, row.a.mean, row.b.mean, row.worse) == (4, 0.75, 0.5, 1)
    said = "\n".join(lines(comparison))
    assert "a, quiz: of 5 items 1 have no outcome and are left out" in said
    assert (
        "b, quiz: of 5 items 1 ended in an error and count 0, 1 have none in the baseline and are"
        " left out" in said
    )


def test_a_metric_that_an_item_has_not_is_counted(tmp_path: Path) -> None:
    a = records([1.0, 0.0, 1.0])
    b = [*records([1.0, 0.0]), replace(records([1.0] * 3)[2], scores={"other": 1.0})]
    comparison = compare(
        [
            read_run(write_run(tmp_path / "a.jsonl", a)),
            read_run(write_run(tmp_path / "b.jsonl", b)),
        ]
    )
    assert [(row.metric, row.items, row.undefined) for row in comparison.rows] == [("acc", 2, 1)]
    assert "acc undefined for 1 item in" in "\n".join(lines(comparison))
    both = [replace(one, scores={**one.scores, "f1": 1.0}) for one in a]
    lacking = [*both[:2], replace(both[2], scores={})]
    paths = [write_run(tmp_path / f"{n}.jsonl", run) for n, run in enumerate((both, lacking))]
    remarks = [line for line in lines(compare(list(map(read_run, paths)))) if "undefined" in line]
    assert len(remarks) == 1
    assert "acc, f1 undefined for 1 item in" in remarks[0]


def test_holm_is_over_metrics_and_groups_are_a_family_of_their_own(tmp_path: Path) -> None:
    groups = ["physics"] * 20 + ["law"] * 20

    def several(path: Path, values: list[float]) -> Path:
        items = [
            replace(item, scores={"acc": value, "f1": value / 2})
            for item, value in zip(records(values, groups=groups), values, strict=True)
        ]
        return write_run(path, items)

    a = several(tmp_path / "a.jsonl", [0.0] * 40)
    b = several(tmp_path / "b.jsonl", [1.0] * 8 + [0.0] * 32)
    comparison = compare([read_run(a), read_run(b)], groups=True)
    p = 2 / 2**8
    assert [(row.metric, row.p, row.p_holm) for row in comparison.rows] == [
        ("acc", p, 2 * p),
        ("f1", p, 2 * p),
    ]
    assert [(row.group, row.metric) for row in comparison.groups] == [
        ("law", "acc"),
        ("law", "f1"),
        ("physics", "acc"),
        ("physics", "f1"),
    ]
    assert comparison.groups[2].p_holm == 4 * p
    assert "p = 0.016 (p = 0.0078 by itself)" in sentence(comparison.rows[0])


def test_several_candidates_are_each_compared_with_the_first(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / f"{name}.jsonl", [1.0, 0.0, 1.0]) for name in ("a", "b", "c")]
    comparison = compare(runs)
    assert [(row.baseline, row.candidate) for row in comparison.rows] == [("a", "b"), ("a", "c")]


def test_runs_of_one_name_are_called_by_their_files(tmp_path: Path) -> None:
    paths = [
        write_run(tmp_path / f"{stem}.jsonl", records([1.0]), name="model") for stem in ("x", "y")
    ]
    assert compare([read_run(path) for path in paths]).runs == ("x", "y")


def test_latencies_are_compared_as_a_ratio(tmp_path: Path) -> None:
    a = run_of(tmp_path / "a.jsonl", [1.0, None, 1.0], latency_s=2.0)
    b = run_of(tmp_path / "b.jsonl", [1.0, 1.0, 1.0], latency_s=1.0)
    (ratio,) = compare([a, b]).latencies
    assert (ratio.items, ratio.quantity) == (2, "latency")
    assert ratio.ratio.mean == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"data_hash": "other"}, "data_hash data and other"),
        ({"prompt_hash": "more"}, "prompt_hash prompts and more"),
        ({"version": "2"}, "version 1 and 2"),
        ({"metrics": {"acc": "acc|v:2"}}, r"metric acc acc\|v:1 and acc\|v:2"),
    ],
)
def test_other_questions_are_refused_by_the_field_that_differs(
    tmp_path: Path, changed: dict[str, str], said: str
) -> None:
    a = run_of(tmp_path / "a.jsonl", [1.0] * 4)
    task: TaskHeader = replace(TASK, **changed)  # type: ignore[arg-type]
    b = read_run(write_run(tmp_path / "b.jsonl", records([1.0] * 4), tasks=[task]))
    with pytest.raises(UsageError, match=f"task quiz differs in {said}"):
        compare([a, b])


def test_what_is_not_there_is_named_with_what_is(tmp_path: Path) -> None:
    a = run_of(tmp_path / "a.jsonl", [1.0] * 4)
    other = replace(TASK, name="exam")
    b = read_run(write_run(tmp_path / "b.jsonl", records([1.0] * 4, task="exam"), tasks=[other]))
    with pytest.raises(UsageError, match=r"no task in common: .* quiz; .* exam"):
        compare([a, b])
    with pytest.raises(UsageError, match="no metric 'ac': did you mean acc"):
        compare([a, a], ["ac"])
    with pytest.raises(UsageError, match="no task 'quizz': did you mean quiz"):
        compare([a, a], tasks=["quizz"])
    with pytest.raises(UsageError, match="1 run cannot be compared"):
        compare([a])


def test_runs_without_a_common_outcome_are_refused(tmp_path: Path) -> None:
    empty = read_run(write_run(tmp_path / "a.jsonl", [], tasks=[TASK]))
    with pytest.raises(UsageError, match="no item has values in both"):
        compare([empty, empty])


def test_runs_of_errors_alone_are_refused_with_the_first_error(tmp_path: Path) -> None:
    a, b = (run_of(tmp_path / name, [None, None]) for name in ("a.jsonl", "b.jsonl"))
    with pytest.raises(UsageError, match="every item ended in an error, the first as 'the server"):
        compare([a, b])
    with pytest.raises(UsageError, match="every item ended in an error"):
        compare([a, b], ["acc"])


def scored_run(
    path: Path, texts: Sequence[str], references: Sequence[str], metrics: Sequence[str]
) -> Run:
    """Score texts as `ragkit eval score --out` does, and read the run."""
    predictions = [
        Prediction(str(n), text, (reference,), f"line {n}")
        for n, (text, reference) in enumerate(zip(texts, references, strict=True))
    ]
    scored = score_texts(predictions, [text_metric(name) for name in metrics])
    path.write_text(run_lines(scored, task="quiz", method="generate", name=path.stem))
    return read_run(path, texts=False)


SET_METRICS = ("bleu", "chrf", "ter", "bleu:char", "chrf++")
SENTENCE = "the committee agreed on the new budget of the town after a long debate"
# Both systems keep some items and ruin others: one drops a word in the middle of each text, the
# other says a third of them in full and hardly anything of the rest.
REFERENCES = [f"{SENTENCE} number {n} of the year" for n in range(30)]
DROPPED = [text.replace("on the new", "on new") for text in REFERENCES]
SHORT = [text if n % 3 == 0 else "the town" for n, text in enumerate(REFERENCES)]


@pytest.mark.parametrize("name", SET_METRICS)
def test_metrics_of_a_set_are_compared_by_the_score_of_the_set(tmp_path: Path, name: str) -> None:
    a = scored_run(tmp_path / "a.jsonl", SHORT, REFERENCES, [name])
    b = scored_run(tmp_path / "b.jsonl", DROPPED, REFERENCES, [name])
    (row,) = compare([a, b], samples=2000).rows
    metric = text_metric(name)
    for side, texts in ((row.a, SHORT), (row.b, DROPPED)):
        whole = metric.corpus(texts, [[text] for text in REFERENCES])
        assert side.mean == pytest.approx(whole)
        assert side.low <= whole <= side.high
    assert row.difference.mean == pytest.approx(row.b.mean - row.a.mean)
    assert row.difference.low < row.difference.mean < row.difference.high
    assert row.test == "approximate randomisation"
    assert row.verdict == "better"
    assert row.p < 0.001
    summary = summarise(b)["quiz"].scores[metric.name]
    assert summary.mean == pytest.approx(row.b.mean)
    judged = gate(a, b, {metric.name: 0.01}, samples=2000)
    assert judged.checks[0].row.difference == row.difference
    assert compare([a, b], samples=2000).notes == ()


def test_a_difference_in_the_items_own_scores_alone_is_none_of_the_set(tmp_path: Path) -> None:
    """The mean of the items' own BLEU differs by a third; the set's hardly does."""
    references = ["a b c d", *(REFERENCES[:1] * 20)] * 3
    first = [text if text != "a b c d" else "e f g h" for text in references]
    a = scored_run(tmp_path / "a.jsonl", first, references, ["bleu"])
    b = scored_run(tmp_path / "b.jsonl", references, references, ["bleu"])
    (row,) = compare([a, b], samples=2000).rows
    assert 0 < row.difference.mean < 0.02
    assert row.verdict == "no significant difference"


def test_clusters_of_a_metric_of_a_set_change_sides_together(tmp_path: Path) -> None:
    def clustered(run: Run) -> Run:
        items = [replace(r, cluster=str(int(r.id) // 15)) for r in run.records]
        return replace(run, records=tuple(items))

    a = clustered(scored_run(tmp_path / "a.jsonl", SHORT, REFERENCES, ["bleu"]))
    b = clustered(scored_run(tmp_path / "b.jsonl", DROPPED, REFERENCES, ["bleu"]))
    (row,) = compare([a, b], samples=2000).rows
    assert (row.clusters, row.test) == (2, "approximate randomisation of clusters")
    assert row.p > 0.3  # of four ways to exchange two clusters, two are as far apart
    assert row.detectable == inf


def test_an_error_is_an_empty_text_and_a_refusal_that_was_scored_0_too(tmp_path: Path) -> None:
    a = scored_run(tmp_path / "a.jsonl", REFERENCES, REFERENCES, ["bleu"])
    error = replace(a.records[0], status="error", scores={}, error="gone", prediction="")
    refused = replace(a.records[1], scores={"bleu": 0.0})
    b = replace(a, records=(error, refused, *a.records[2:]))
    (row,) = compare([a, b], samples=500).rows
    expected = text_metric("bleu").corpus(["", "", *REFERENCES[2:]], [[r] for r in REFERENCES])
    assert row.b.mean == pytest.approx(expected)
    assert expected < 1


def test_it_says_where_a_score_of_the_set_cannot_be_had(tmp_path: Path) -> None:
    a = scored_run(tmp_path / "a.jsonl", REFERENCES, REFERENCES, ["bleu", "exact_match"])
    older = replace(a.header.tasks[0], metrics={"bleu": "bleu|tok:13a|v:1"})
    other_texts = tuple(replace(r, prediction="the", scores={"bleu": 0.5}) for r in a.records)
    for run in (
        replace(a, header=replace(a.header, tasks=(older,))),
        replace(a, records=other_texts),
        replace(a, records=tuple(replace(r, targets=()) for r in a.records)),
    ):
        compared = compare([run, run], ["bleu"], samples=500)
        assert not compared.rows[0].test.startswith("approximate")
        (note,) = compared.notes
        assert note.startswith("quiz: bleu is here the mean of the items' own")
    assert compare([a, a], ["exact_match"], samples=500).notes == ()


def test_one_item_is_one_item(tmp_path: Path) -> None:
    a = run_of(tmp_path / "a.jsonl", [1.0, 1.0], latency_s=1.0, groups=["x", "y"])
    b = run_of(tmp_path / "b.jsonl", [1.0, 0.0], latency_s=1.0, groups=["x", "y"])
    said = "\n".join(lines(compare([a, b], groups=True)))
    assert "quiz, y: acc over 1 item; " in said
    assert "0 items scored higher, 1 lower" in said
    said = "\n".join(lines(compare([b, a])))
    assert "1 item scored higher, 0 lower" in said


def test_a_table_cell_cannot_break_the_table(tmp_path: Path) -> None:
    paths = [write_run(tmp_path / f"{n}.jsonl", records([1.0]), name=f"a|<b>\n{n}") for n in (1, 2)]
    written = markdown(compare([read_run(path) for path in paths]))
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {12}
    assert "a\\|&lt;b> 2" in written


def test_the_command_prints_words_and_json_and_writes_files(tmp_path: Path) -> None:
    a, b = (
        str(write_run(tmp_path / f"{name}.jsonl", records(values, latency_s=1.0)))
        for name, values in (("a", [0.0] * 10), ("b", [1.0] * 8 + [0.0] * 2))
    )
    run = CliRunner()
    said = run.invoke(app, ["compare", a, b, "--out", str(tmp_path / "c.md")])
    assert said.exit_code == 0, said.output
    assert "b is better by 0.800 (95% 0." in said.output
    assert "8 items scored higher, 0 lower" in said.output
    assert "latency of b is 1.00 times that of a" in said.output
    assert "| quiz | acc | 10 |" in (tmp_path / "c.md").read_text()
    values = json.loads(run.invoke(app, ["compare", a, b, "--json"]).output)
    assert values["rows"][0]["p"] == 2 / 2**8
    assert values["rows"][0]["says"].startswith("b is better by 0.800")
    wrong = run.invoke(app, ["compare", a, b, "--out", str(tmp_path / "c.pdf")])
    assert isinstance(wrong.exception, UsageError)
    assert "use one of .md, .json" in str(wrong.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl", "c.md"]
