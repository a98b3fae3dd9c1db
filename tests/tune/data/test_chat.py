"""Rows of chats from labelled answers, thumbs and a model, on a real database.

What holds for every row: its prompt is the one that `ask` renders, its answer is supported.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit import KnowledgeBase, Settings
from ragkit.answer.write.llm import refusal_in
from ragkit.errors import UsageError
from ragkit.prompts.messages import build_prompt
from ragkit.text.markers import find_markers
from ragkit.types import Message
from ragkit_eval.sets import read_set
from ragkit_tune.data.answered import cited, renumbered
from ragkit_tune.data.chat import Origins, make_chat_rows
from ragkit_tune.data.data_set import DataSet, read_data_set
from tests.tune.data.corpora import documents, labels, write_labels

Line = dict[str, Any]
SETTINGS = Settings(database_url=SecretStr("postgresql://unused"))


def answered_labels() -> list[Line]:
    """Return the labelled questions with their paragraph as answer, and four without any."""
    lines = [{**line, "references": [line["spans"][0]["text"]]} for line in labels(documents())]
    unanswerable = [
        {"id": f"u{n}", "question": f"Who painted the ceiling of room {n}?", "answerable": False}
        for n in range(20)
    ]
    return lines + unanswerable


@pytest.fixture(scope="module")
def data(kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    folder = tmp_path_factory.mktemp("chat")
    labelled = write_labels(folder / "set.jsonl", answered_labels())
    return make_chat_rows(
        kb, folder / "data", settings=SETTINGS, origins=Origins(labelled, feedback=False), seed=1
    )


def rows(data: DataSet, *splits: str) -> list[Line]:
    files = [data.folder / f"{split}.jsonl" for split in splits or ("train", "dev")]
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def test_a_prompt_is_the_one_that_ask_renders(data: DataSet, kb: KnowledgeBase) -> None:
    expected = build_prompt("Why?", kb.search("pumps", k=1), budget_tokens=500)
    assert data.rows_kind == "chat"
    assert data.card["prompts"] == [expected.version]
    for row in rows(data):
        assert row["prompt"] == expected.version
        system, user, assistant = row["messages"]
        assert system == {"role": "system", "content": expected.messages[0].content}
        assert [message["role"] for message in (user, assistant)] == ["user", "assistant"]
        for number, source in enumerate(row["sources"], 1):
            assert f'<source id="{number}"' in user["content"]
            assert source["text"] in user["content"]


def test_an_answer_cites_the_source_that_holds_it(data: DataSet) -> None:
    answers = [row for row in rows(data) if not refusal_in(row["messages"][-1]["content"])]
    assert len(answers) > 40
    places = set()
    for row in answers:
        text = row["messages"][-1]["content"]
        (marker,) = find_markers(text)
        (number,) = marker.numbers
        statement = text.replace(f" [{number}]", "")
        assert row["sources"][number - 1]["text"] == statement
        places.add(number)
    assert len(places) > 1  # the right source does not always stand first


def test_sources_are_spans_of_their_documents(data: DataSet, kb: KnowledgeBase) -> None:
    stored = {row.uri: kb.store.text(row.id) for row in kb.store.documents(kb.collection)}
    for row in rows(data):
        for source in row["sources"]:
            assert stored[source["document"]][source["start"] : source["end"]] == source["text"]


def test_passages_that_do_not_answer_stand_beside_and_some_questions_are_refused(
    data: DataSet,
) -> None:
    made = rows(data)
    sizes = [len(row["sources"]) for row in made]
    assert max(sizes) == 4  # the right one and three others
    assert min(sizes) >= 2
    refused = [row for row in made if refusal_in(row["messages"][-1]["content"])]
    assert data.card["refusals"] == len(refused)
    assert 0.1 < len(refused) / len(made) < 0.5
    again = [row for row in refused if "What is said" in row["messages"][1]["content"]]
    assert again
    for row in again:
        place = row["messages"][1]["content"].split("Question: ")[1].split(" at ")[1].rstrip("?")
        subject = row["messages"][1]["content"].split("of the ")[-1].split(" at ")[0]
        texts = [source["text"] for source in row["sources"]]
        assert not any(place in text and subject.split()[0] in text for text in texts)


def test_no_document_of_the_test_stands_in_a_prompt(data: DataSet) -> None:
    proven = {uri for line in rows(data, "test") for uri in line.get("relevant", {})}
    shown = {source["document"] for row in rows(data, "train") for source in row["sources"]}
    held = {source["document"] for row in rows(data, "dev") for source in row["sources"]}
    assert proven
    assert (proven & shown, proven & held) == (set(), set())


def test_the_test_is_a_set_with_references_and_unanswerable_questions(data: DataSet) -> None:
    labelled = read_set(data.path("test"))
    assert len(labelled.questions) == data.counts["test"]
    assert {question.answerable for question in labelled.questions} == {True, False}
    assert all(bool(question.references) == question.answerable for question in labelled.questions)


def test_the_same_seed_makes_the_same_bytes(
    kb: KnowledgeBase, data: DataSet, tmp_path: Path
) -> None:
    labelled = write_labels(tmp_path / "set.jsonl", answered_labels())
    origins = Origins(labelled, feedback=False)
    made = make_chat_rows(kb, tmp_path / "data", settings=SETTINGS, origins=origins, seed=1)
    assert made.hash == data.hash
    assert read_data_set(tmp_path / "data").card["rows"] == "chat"


def test_what_a_model_writes_is_checked_and_the_model_named(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    labelled = write_labels(tmp_path / "set.jsonl", labels(documents()))

    def sampler(messages: Sequence[Message], count: int) -> list[str]:
        """Copy the first source, and invent a number for every question about filters."""
        text = messages[-1].content.split(">\n", 1)[1].split("\n</source>")[0]
        invented = "It takes 99,999 years [1]."
        return [
            invented if "filters" in messages[-1].content.split("Question")[1] else f"{text} [1]"
        ]

    data = make_chat_rows(
        kb,
        tmp_path / "data",
        settings=SETTINGS,
        origins=Origins(labelled, feedback=False, sampler=sampler, written_by="tiny"),
        fewest=20,
        allow_dropped=True,
    )
    assert data.card["written_by"] == "tiny"
    assert "Written by the model tiny" in (data.folder / "card.md").read_text("utf-8")
    answers = [row["messages"][-1]["content"] for row in rows(data)]
    assert not any("99,999" in answer for answer in answers)
    assert data.card["left_out"]["its answer is not supported by its passages"] > 10


def test_few_rows_and_unsupported_answers_end_the_command(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    lines = answered_labels()
    few = Origins(write_labels(tmp_path / "few.jsonl", lines[:24]), feedback=False)
    with pytest.raises(UsageError, match=r"only \d+ rows could be made.*50 at least"):
        make_chat_rows(kb, tmp_path / "few", settings=SETTINGS, origins=few)
    wrong = [{**line, "references": ["It is 12,345."]} for line in lines[:80]]
    origins = Origins(write_labels(tmp_path / "wrong.jsonl", wrong), feedback=False)
    with pytest.raises(UsageError, match="its answer is not supported by its passages"):
        make_chat_rows(kb, tmp_path / "wrong", settings=SETTINGS, origins=origins)
    bare = Origins(write_labels(tmp_path / "bare.jsonl", labels(documents())), feedback=False)
    with pytest.raises(UsageError, match="no answer is known or could be written"):
        make_chat_rows(kb, tmp_path / "bare", settings=SETTINGS, origins=bare)


def test_markers_are_set_and_renumbered() -> None:
    assert renumbered("Red [1][3], blue [2, 1]。", {1: 4, 2: 5}) == "Red [4], blue [5][4]。"
    assert cited("", []) == ""
