"""What a newcomer meets: few rows, a set beside the rules, another folder, too few documents."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ragkit import KnowledgeBase
from ragkit.errors import UsageError
from ragkit.store.open import Database
from ragkit.types import Hit, Span
from ragkit_tune.cli_data import data as data_command
from ragkit_tune.data.checks import ALREADY, DUPLICATE, FAULTS, check_questions
from ragkit_tune.data.data_set import DataSet
from ragkit_tune.data.make import OnlyPassages, make_data
from ragkit_tune.data.next_step import next_step
from ragkit_tune.data.questions import Place, Question
from tests.tune.data.corpora import documents, labels, store_documents, write_labels

Line = dict[str, Any]


def make(kb: KnowledgeBase, folder: Path, lines: list[Line], **options: Any) -> DataSet:
    folder.mkdir(exist_ok=True)
    labelled = write_labels(folder / "set.jsonl", lines)
    return make_data(kb, folder / "data", labelled=labelled, **options)


def rows(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# -- passages to write questions about -------------------------------------------------------------


@pytest.mark.parametrize("count", [45, 1])
def test_too_few_rows_still_list_the_passages_to_ask_about(
    kb: KnowledgeBase, tmp_path: Path, count: int
) -> None:
    lines = labels(documents())
    with pytest.raises(OnlyPassages, match=f"only {count} rows could be made") as caught:
        make(kb, tmp_path, lines[:count], ask=50)
    listed = rows(tmp_path / "data" / "ask.jsonl")
    assert caught.value.path == tmp_path / "data" / "ask.jsonl"
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["ask.jsonl"]
    assert len({line["spans"][0]["text"] for line in listed}) == 50
    for n, line in enumerate(listed):
        line["question"] = f"What does passage number {n} tell its readers?"
    made = make(kb, tmp_path / "again", lines[:count] + listed)
    assert sum(made.counts.values()) == count + 50 - sum(made.card["left_out"].values())


def test_rows_with_faults_or_about_one_document_list_passages_too(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    lines = labels(documents())
    with pytest.raises(OnlyPassages, match="rows have a fault"):
        make(kb, tmp_path / "faults", [*lines, *lines[:20]], ask=3)
    tied = [{**line, "group": "all"} for line in lines]
    with pytest.raises(OnlyPassages, match="one group: there is nothing to prove a model on"):
        make(kb, tmp_path / "tied", tied, ask=3)
    assert len(rows(tmp_path / "tied" / "data" / "ask.jsonl")) == 3


def test_passages_with_rows_fill_the_list_where_others_are_few(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    make(kb, tmp_path, labels(documents()), negatives=0, ask=30)
    assert len(rows(tmp_path / "data" / "ask.jsonl")) == 30


def test_the_next_command_is_one_that_the_program_takes(tmp_path: Path) -> None:
    step = next_step(
        tmp_path / "my rows",
        ["--collection", "own"],
        hows=("headings", "cloze"),
        labelled=None,
    )
    assert str(tmp_path / "my rows" / "ask.jsonl") in step
    command = step.partition("`")[2].rstrip("`")
    assert shlex.split(command) == [
        *("ragkit", "tune", "data", "--collection", "own"),
        *("--set", str(tmp_path / "my rows" / "ask.jsonl")),
        *("--how", "labelled,headings,cloze", "--out", str(tmp_path / "my rows-2")),
    ]
    assert data_command.__name__ in command


def test_a_set_that_was_given_gets_the_new_questions(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    step = next_step(tmp_path / "rows", [], hows=("labelled",), labelled=own)
    assert f"add these lines to {own}" in step
    assert f"--set {own} --how labelled,headings,tables,numbers" in step


# -- too few rows ----------------------------------------------------------------------------------


def test_the_message_for_few_rows_says_what_works(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        make(kb, tmp_path, labels(documents())[:45])
    message = str(caught.value)
    assert "testset" not in message
    assert "--ask 50" in message
    assert "--how labelled,headings,tables,numbers,definitions,cloze,feedback" in message
    assert "\n" not in message


# -- a set beside the rules ------------------------------------------------------------------------


def question(text: str, how: str) -> Question:
    passage = "Mechanics in Bray replace the filters of all turbines after 120 days of operation."
    hit = Hit(1, 1, "/d/bray.md", "", None, 0, len(passage), passage, 0.0)
    return Question(text, (Place(hit, Span(0, len(passage))),), how, "en")


def test_a_rules_question_that_the_set_has_is_no_fault() -> None:
    left_out: Counter[str] = Counter()
    asked = "When are filters replaced?"
    passing = check_questions(
        [question(asked, "headings"), question(asked, "labelled"), question(asked, "labelled")],
        "",
        left_out,
    )
    assert [item.how for item in passing] == ["labelled"]
    assert left_out == {DUPLICATE: 1, ALREADY: 1}
    assert ALREADY not in FAULTS


# -- the same files in another folder --------------------------------------------------------------


def test_the_rows_do_not_depend_on_where_the_folder_lies(
    database: Database, tmp_path: Path
) -> None:
    made = []
    for name, order in (("a", 1), ("some/where/else", 1), ("b", -1)):
        texts = {
            uri.replace("/d/", f"/{name}/"): paragraphs
            for uri, paragraphs in [*documents().items()][::order]
        }
        asked = [
            {
                **line,
                "spans": [
                    {**span, "document": span["document"].replace("/d/", f"/{name}/")}
                    for span in line["spans"]
                ],
            }
            for line in labels(documents())
        ]
        folder = tmp_path / name[-1]
        collection = store_documents(database, f"folder_{name[-1]}", texts)
        data = make(collection, folder, asked, ask=5, rows=60)
        made.append(
            {
                split: [without_document(line) for line in rows(folder / "data" / f"{split}.jsonl")]
                for split in ("train", "dev", "test", "ask")
            }
        )
        assert sum(data.counts.values()) == 60
    first, second, reversed_ = made
    assert first == second
    # A search puts passages that are equally near in the order in which they came in.
    for split in ("train", "dev", "test"):
        assert without(first[split], "negatives") == without(reversed_[split], "negatives")


def without(lines: list[Line], field: str) -> list[Line]:
    return [{name: value for name, value in line.items() if name != field} for line in lines]


def without_document(line: Line) -> Line:
    kept = {name: value for name, value in line.items() if name not in {"document", "relevant"}}
    spans = [{**span, "document": ""} for span in line.get("spans", [])]
    return {**kept, "spans": spans}
