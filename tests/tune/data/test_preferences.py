"""Rows of preferences from thumbs up and down, and from ragkit's check of a model's answers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit import KnowledgeBase, Settings
from ragkit.errors import UsageError
from ragkit.prompts.messages import REFUSAL
from ragkit.store.open import Database
from ragkit.store.people.feedback import Feedback
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit.types import Answer, Citation, Message
from ragkit_tune.data.chat import Origins, make_chat_rows
from ragkit_tune.data.data_set import DataSet
from ragkit_tune.data.preferences import make_preference_rows, shared_terms
from tests.tune.data.corpora import documents, labels, store_documents, write_labels

Line = dict[str, Any]
SETTINGS = Settings(database_url=SecretStr("postgresql://unused"))


@pytest.fixture(scope="module")
def kb(database: Database) -> KnowledgeBase:
    made = store_documents(database, "plants", documents())
    for n, line in enumerate(labels(documents())):
        (span,) = line["spans"]
        citation = Citation(
            1, 1, span["document"], "T", None, span["start"], span["end"], span["text"], "verified"
        )
        rate(database, f"up{n}", line["question"], f"{span['text']} [1]", citation, "up")
        if n % 2:
            rate(database, f"down{n}", line["question"], "Nobody knows [1].", citation, "down")
    rate(database, "refused", "Who painted the roof?", REFUSAL["en"], None, "up")
    rate(database, "unliked", "Who built the dam?", REFUSAL["en"], None, "down")
    return made


def rate(
    database: Database,
    name: str,
    question: str,
    text: str,
    citation: Citation | None,
    rating: str,
) -> None:
    answer = Answer(text, citation is None, "", (citation,) if citation else ())
    number = f"chatcmpl-{name.encode().hex()}"
    KeptAnswers(database.pool, "default", "anna", keep_days=30).keep(
        number, collection="plants", question=question, query=None, answer=answer, completion={}
    )
    Feedback(database.pool, "default", "anna", keep_days=30).rate(
        number, "up" if rating == "up" else "down"
    )


def rows(data: DataSet, *splits: str) -> list[Line]:
    files = [data.folder / f"{split}.jsonl" for split in splits or ("train", "dev")]
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def test_liked_answers_are_rows_of_chats(kb: KnowledgeBase, tmp_path: Path) -> None:
    data = make_chat_rows(kb, tmp_path / "data", settings=SETTINGS, refusals=0, fewest=20)
    answers = [row["messages"][-1]["content"] for row in rows(data)]
    assert len(answers) > 40
    assert not any("Nobody knows" in answer for answer in answers)
    assert data.card["how"] == {"feedback": 81}


def test_a_liked_answer_is_preferred_to_a_disliked_one(kb: KnowledgeBase, tmp_path: Path) -> None:
    data = make_preference_rows(kb, tmp_path / "data", settings=SETTINGS, fewest=10)
    made = rows(data)
    assert data.rows_kind == "preference"
    assert 20 < len(made) <= 40
    for row in made:
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        number = row["chosen"].rsplit("[", 1)[1].rstrip("]")
        assert row["chosen"].rsplit(" [", 1)[0] in row["prompt"][1]["content"]
        assert row["rejected"] == f"Nobody knows [{number}]."
    left_out = data.card["left_out"]
    assert left_out["its answers are all liked or all disliked"] > 20
    assert len({row["id"] for row in made}) == len(made)


def test_single_thumbs_are_rows_for_kto(kb: KnowledgeBase, tmp_path: Path) -> None:
    data = make_preference_rows(kb, tmp_path / "data", settings=SETTINGS, kind="completion")
    made = rows(data)
    assert data.rows_kind == "completion"
    assert {row["label"] for row in made} == {True, False}
    for row in made:
        assert row["label"] == ("Nobody knows" not in row["completion"])
    # Nobody says whether the documents answer what was refused and disliked.
    assert not any("dam" in row["prompt"][1]["content"] for row in made)


def test_of_a_models_answers_the_supported_one_is_chosen(kb: KnowledgeBase, tmp_path: Path) -> None:
    lines = labels(documents())
    lines += [
        {"id": f"u{n}", "question": f"Who painted ceiling {n}?", "answerable": False}
        for n in range(9)
    ]
    labelled = write_labels(tmp_path / "set.jsonl", lines)

    def sampler(messages: Sequence[Message], count: int) -> list[str]:
        assert count == 4
        text = messages[-1].content.split(">\n", 1)[1].split("\n</source>")[0]
        return [f"{text} [1]", "It takes 99,999 years [1].", "It takes 99,999 years [1]."]

    origins = Origins(labelled, feedback=False, sampler=sampler, written_by="tiny")
    data = make_preference_rows(kb, tmp_path / "data", settings=SETTINGS, origins=origins)
    made = rows(data)
    answerable = [row for row in made if "ceiling" not in row["prompt"][1]["content"]]
    refused = [row for row in made if "ceiling" in row["prompt"][1]["content"]]
    assert len(answerable) > 40
    assert all(row["rejected"] == "It takes 99,999 years [1]." for row in answerable)
    assert all("99,999" not in row["chosen"] for row in answerable)
    assert {row["chosen"] for row in refused} == {REFUSAL["en"]}
    assert data.card["written_by"] == "tiny"


def test_a_folder_that_exists_and_too_few_rows_are_refused(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="rows could be made"):
        make_preference_rows(kb, tmp_path / "data", settings=SETTINGS, fewest=500)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    with pytest.raises(UsageError, match="already there"):
        make_preference_rows(kb, tmp_path / "full", settings=SETTINGS)


def test_equal_questions_share_their_terms() -> None:
    assert shared_terms("How LONG is the leave?") == shared_terms("the leave: how long is")
    assert shared_terms("Leave in 2023?") != shared_terms("Leave in 2024?")
    assert shared_terms("???") == frozenset({"???"})
