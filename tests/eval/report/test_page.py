"""The HTML page: well formed, inert, offline, and saying the numbers that were computed."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from lxml import html as lxml_html

from ragkit.errors import UsageError
from ragkit_eval.compare.compare import Comparison
from ragkit_eval.report import html
from ragkit_eval.report.report import compared
from ragkit_eval.run.record import Record, Run
from ragkit_eval.stats import mean_interval
from tests.eval.report import runs
from tests.eval.report.conftest import slim


def tree(page: str) -> Any:
    """Parse a page strictly, as XML: every element closed, every attribute quoted, once."""
    body = re.sub(r"(<(script|style)>).*?(</\2>)", r"\1\3", page, flags=re.DOTALL)
    return etree.fromstring(body.replace("<!DOCTYPE html>", "").encode())


def words(node: Any) -> str:
    return " ".join("".join(node.itertext()).split())


def items(page: str) -> list[Any]:
    return list(tree(page).iterfind(".//article"))


def test_page_of_two_runs_is_well_formed_and_its_references_lead_somewhere(
    compared_page: str,
) -> None:
    root = tree(compared_page)
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    for node in root.iter():
        for name in ("aria-labelledby", "for"):
            assert set(node.get(name, "").split()) <= set(ids)
        if node.tag == "a":
            assert node.get("href")[0] == "#"
            assert node.get("href")[1:] in ids
        assert node.get("style") is None, "the policy forbids style attributes"
        assert not [name for name in node.keys() if name.startswith("on")]  # noqa: SIM118


def test_headings_never_skip_a_level_and_every_cell_of_a_head_has_its_scope(
    compared_page: str,
) -> None:
    root = tree(compared_page)
    levels = [int(node.tag[1]) for node in root.iter() if re.fullmatch(r"h\d", str(node.tag))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    heads = list(root.iter("th"))
    assert heads
    assert {head.get("scope") for head in heads} == {"col", "row"}
    for picture in root.iter("svg"):
        if picture.get("aria-hidden") != "true":
            assert picture.get("role") == "img"
            assert words(picture.find("title"))
            assert words(picture.find("desc"))


def test_policy_allows_the_pages_own_script_and_style_and_nothing_else(
    choice_page: str,
) -> None:
    page = choice_page
    meta = lxml_html.fromstring(page).find(".//meta[@http-equiv='Content-Security-Policy']")
    policy = dict(part.split(None, 1) for part in meta.get("content").split("; "))

    def hashed(name: str) -> str:
        (content,) = re.findall(f"<{name}>(.*?)</{name}>", page, re.DOTALL)
        return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"

    assert policy == {
        "default-src": "'none'",
        "style-src": hashed("style"),
        "script-src": hashed("script"),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_page_refers_to_nothing_outside_itself(answer_page: str) -> None:
    page = answer_page
    assert not re.search(r"\b(src|srcset|data|action|poster|xlink:href)=", page)
    assert not re.search(r"@import|url\(|<(link|img|iframe|object|embed|base|form)\b", page)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(|eval\(", page)


def test_means_intervals_and_differences_are_the_computed_ones(
    choice_runs: list[Run], choice_comparison: Comparison
) -> None:
    comparison = choice_comparison
    root = tree(html(choice_runs, comparison))
    cards = [words(node) for node in root.iterfind(".//li[@class='card s0']")]
    values = [record.value("acc") or 0.0 for record in choice_runs[0].records]
    expected = mean_interval(values, [""] * len(values))
    assert f"{expected.mean:.3f} [{expected.low:.3f}, {expected.high:.3f}]" in cards[0]
    errors = sum(record.status == "error" for record in choice_runs[0].records)
    assert errors > 0
    assert f"answered {480 - errors} of 480 errors {errors}" in cards[0]
    (row,) = comparison.rows
    verdict = words(root.find(".//ul[@class='verdicts']"))
    assert f"B is better than A in acc: +{row.difference.mean:.3f} [+" in verdict
    assert f"better on {row.better} items, worse on {row.worse}." in verdict


def test_every_mean_is_printed_with_its_items_coverage_and_errors(tmp_path: Path) -> None:
    records = [
        runs.graded("mmlu", "1", 1.0),
        runs.graded("mmlu", "2", 0.25),
        Record(task="mmlu", id="3", key="3", status="error", error="no answer in 60 s"),
    ]
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=4), records)
    root = tree(html(slim(path), None))
    cell = words(root.find(".//main//tbody//td"))
    assert cell.startswith("0.417 [")
    assert cell.endswith("3 items, 50.0% answered, 1 error")


def test_each_group_and_each_slice_has_its_row(
    compared_page: str,
) -> None:
    root = tree(compared_page)
    tables = {words(node): node for node in root.iter("h3")}
    assert {
        "By group: answer_score",
        "By language: answer_score",
        "By answerable: answer_score",
    } <= set(tables)
    by_language = tables["By language: answer_score"].getnext()
    rows = [words(row.find("th")) for row in by_language.iter("tr")]
    assert rows == ["language", "en", "zh"]


def test_item_shows_both_answers_with_citations_marks_passages_and_targets(
    answer_page: str,
) -> None:
    found = items(answer_page)
    fixed = next(
        item for item in found if item.get("data-kind") == "fixed" and "leave-en" in words(item)
    )
    before, after = fixed.iterfind(".//div[@class='side']")
    assert "wrong" in words(before.find("h4"))
    assert "right" in words(after.find("h4"))
    marks = {(mark.get("class"), mark.text) for mark in before.iter("mark")}
    assert ("unsupported unverified", "24 days") in marks
    assert ("unsupported cite", "[1]") in marks
    assert {mark.get("class") for mark in after.iter("mark")} == {"cite"}
    assert "In 2026, full-time employees in Galway have 26 days" in words(before.find(".//ol"))
    passages = list(fixed.iterfind(".//ul[@class='passages']/li"))
    assert [words(one).split(" · ")[0] for one in passages] == ["A B", "A"]
    quoted = "In 2026, full-time employees in Galway have 26 days of annual leave."
    assert [mark.text for mark in passages[0].iter("mark")] == [quoted]
    assert passages[0].find(".//mark").get("class") == "quote gold"
    assert "26 days" in words(fixed.find(".//ul[@class='targets']"))


def test_prediction_is_told_only_where_it_is_not_the_whole_answer(tmp_path: Path) -> None:
    records = [
        runs.graded("mmlu", "1", 1.0, output="It is 26 days [1].", prediction="It is 26 days."),
        runs.graded("mmlu", "2", 1.0, output="So it is B, I think.", prediction="B"),
    ]
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=2), records)
    one, other = items(html(slim(path), None))
    assert "Read as" not in words(one)
    assert "Read as B" in words(other)


def test_missing_target_is_no_target_only_where_the_labels_say_so(
    tmp_path: Path, answer_page: str
) -> None:
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=1), [runs.graded("mmlu", "1", 1.0)])
    assert "Right answer none is given" in words(tree(html(slim(path), None)))
    parking = [item for item in items(answer_page) if "parking" in words(item)]
    assert "none: the documents do not answer this" in words(parking[0])


def test_metric_that_no_item_could_be_told_of_is_no_row(tmp_path: Path) -> None:
    top = runs.header(items=1, metrics=("ndcg@10",))
    path = runs.write(tmp_path / "r.jsonl", top, [runs.graded("mmlu", "1", 1.0)])
    assert "ndcg@10" not in words(tree(html(slim(path), None)).find(".//main//tbody"))


def test_chinese_text_says_its_language(answer_page: str) -> None:
    found = items(answer_page)
    chinese = next(item for item in found if "leave-zh" in words(item))
    assert chinese.find(".//h3").get("lang") == "zh"
    assert {s.get("lang") for s in chinese.iterfind(".//p[@class='said scrolls']/span")} == {"zh"}


def hostile(folder: Path, value: float) -> Path:
    """A run with hostile text in every place that takes any."""
    bad = runs.HOSTILE
    detail = {
        "answer": bad,
        "refused": True,
        "reason": bad,
        "citations": [{"n": bad, "uri": bad, "quote": bad, "verdict": bad, "page": bad}],
        "claims": [{"start": 3, "end": 30, "support": "not found"}],
        "unverified": [bad[5:20]],
        "used": [{"uri": bad, "start": 0, "end": 9, "text": bad}],
        "labels": {"tags": {bad: f"{bad}{value}"}, "answerable": True},
    }
    records = [
        runs.graded(
            bad,
            f"{bad}{n}",
            value,
            question=bad,
            prompt=bad * 2,
            output=bad,
            prediction=bad[:30],
            targets=(bad,),
            group=f"{bad}{n}",
            detail=detail,
        )
        for n in range(3)
    ]
    errors = [Record(task=bad, id=f"{bad}x", key="k", status="error", error=bad, group=bad)]
    top = runs.header(items=4, name=f"{bad}{value}", task=bad)
    return runs.write(folder / f"{value}.jsonl", top, [*records, *errors])


def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    read = slim(hostile(tmp_path, 0.0), hostile(tmp_path, 1.0))
    page = html(read, compared(read), title=runs.HOSTILE)
    root = tree(page)
    tags = {str(node.tag) for node in root.iter()}
    assert "img" not in tags
    assert "textarea" not in tags
    assert len(list(root.iter("script"))) == 1
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page
    )
    assert "⟨U+202E⟩gnp.exe" in page
    assert "49" not in words(root.find(".//h1"))  # {{ 7*7 }} is text
    assert "alert(1)" in words(root.find(".//h1"))
    page.encode("utf-8")


@pytest.mark.parametrize(
    "detail",
    [
        {"answer": 7, "citations": "no", "claims": [1, None], "used": {"a": 1}, "labels": []},
        {"citations": [{"start": "x", "end": None, "quote": None}], "unverified": [3, "", None]},
        {"claims": [{"start": -5, "end": 10**9, "support": "partly"}], "confidence": "high"},
        {"hits": [{"text": 5}, {"text": "a passage", "start": True}], "labels": {"tags": [1]}},
    ],
)
def test_detail_of_another_shape_is_no_failure(tmp_path: Path, detail: dict[str, Any]) -> None:
    record = runs.graded("mmlu", "1", 1.0, output="said", detail=detail)
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=1), [record])
    (item,) = items(html(slim(path), None))
    assert "said" in words(item)


def test_one_run_of_one_item_is_a_whole_page(tmp_path: Path) -> None:
    record = runs.graded("mmlu", "7", 1.0, question="Why?", output="Because.", latency_s=0.5)
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=1), [record])
    page = html(slim(path), None)
    assert "Shown: 1 item, which is all." in words(tree(page))
    assert [item.get("data-kind") for item in items(page)] == ["right"]
    assert "differs" not in [node.text for node in tree(page).iter("span")]


def test_run_of_errors_alone_scores_zero_and_names_them(tmp_path: Path) -> None:
    path = runs.choices(tmp_path / "r.jsonl", name="x", seed=1, right=1, per_subject=1, errors=1)
    page = html(slim(path), None)
    assert "0.000 [0.000, 0.063]" in words(tree(page))
    assert "answered 0 of 57" in words(tree(page))
    assert {item.get("data-kind") for item in items(page)} == {"error"}
    assert "the server did not answer in 60 s" in words(items(page)[0])


def test_run_without_any_item_yet_is_a_page_too(tmp_path: Path) -> None:
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=9), [])
    assert "No run has come to any item yet." in words(tree(html(slim(path), None)))


def test_runs_of_several_tasks_have_a_section_each(tmp_path: Path) -> None:
    one = runs.header(items=1, name="both")
    other = runs.header(items=1, task="gsm8k", metric="acc")
    top = type(one)(tasks=(*one.tasks, *other.tasks), model=one.model)
    records = [runs.graded("mmlu", "1", 1.0), runs.graded("gsm8k", "1", 0.0)]
    root = tree(html(slim(runs.write(tmp_path / "r.jsonl", top, records)), None))
    assert [words(node) for node in root.iter("h2")] == ["mmlu", "gsm8k", "Items", "What was run"]
    assert [o.text for o in root.iterfind(".//select[@id='by-task']/option")][1:] == [
        "gsm8k",
        "mmlu",
    ]


def test_long_texts_are_cut_and_it_is_said(tmp_path: Path) -> None:
    record = runs.graded("mmlu", "1", 1.0, output="x" * 6_500, question="q")
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=1), [record])
    page = html(slim(path), None)
    assert "x" * 6_000 in page
    assert "x" * 6_001 not in page
    assert "Left out here: 500 characters of the output." in page


def test_facts_mark_what_is_not_the_same(choice_page: str) -> None:
    root = tree(choice_page)
    rows = {words(row.find("th")): row for row in root.iterfind(".//section[@id='facts']//tr")}
    assert rows["model.name"].get("class") == "differs"
    assert [words(cell) for cell in rows["model.name"].iter("td")] == ["small", "large"]
    assert rows["model.arguments.dtype"].get("class") is None
    hashes = [words(cell) for cell in rows["mmlu: prompt hash"].iter("td")]
    assert hashes == ["fedcba9876543210", "fedcba9876543210"]
    assert [words(cell) for cell in rows["mmlu: acc"].iter("td")] == ["acc|v:1", "acc|v:1"]


def test_no_run_is_refused() -> None:
    with pytest.raises(UsageError, match="no run to report"):
        html([], None)
