"""`ragkit eval testset` as a user types it, on a real database."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ragkit.testing.stub_server.server import StubServer
from ragkit.upkeep.calibrate import read_labelled
from ragkit_eval.sets import read_set
from tests.commands import Commands

DOCUMENTS = {
    "pump.md": "# The pumps\n\n## Cooling\n\nThe PX-300 pump needs 42 litres of cooling water in"
    " each hour of its work.\n\n## Staff\n\nStaff in Leeds replace the filters of all machines"
    " after 90 days of continuous operation, and write that down.\n",
    "机房.md": "# 机房\n\n机房温度应保持在22℃，相对湿度不得超过百分之六十。\n",
}


@pytest.fixture(scope="module")
def ragkit(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Commands on a database that has two documents and an empty collection."""
    name = sql.Identifier("test_cli_testset")
    folder = tmp_path_factory.mktemp("testset")
    (folder / "texts").mkdir()
    for file, text in DOCUMENTS.items():
        (folder / "texts" / file).write_text(text, encoding="utf-8")
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
        commands = Commands(database_url.replace("/postgres?", "/test_cli_testset?"), folder)
        commands("ingest", "texts")
        commands("collections", "create", "empty")
        yield commands
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_set_is_made_that_the_other_commands_read(ragkit: Commands) -> None:
    done = ragkit.json("eval", "testset", "--out", "set.jsonl", "--unanswerable", "0.04")
    assert (done["unanswerable"], done["documents"]) == (2, 2)
    assert (done["method"], done["collection"], done["out"]) == ("rules", "default", "set.jsonl")
    assert sum(done["kinds"].values()) == done["questions"]
    path = ragkit.folder / "set.jsonl"
    questions = read_set(path).questions
    asked = {q.text: q.answers for q in questions if q.answerable}
    assert asked["机房温度应保持在多少℃？"] == ("22℃",)
    assert {q.answerable for q in questions} == {True, False}
    labelled = read_labelled(path)  # as `ragkit eval calibrate` does
    assert sum(not one.answerable for one in labelled) == 2
    assert {one.group for one in labelled} == set(DOCUMENTS)
    (room,) = [row for row in _rows(path) if row.get("answers") == ["22℃"]]
    assert room["tags"] == {"kind": "number", "language": "zh"}
    (place,) = room["spans"]
    shown = ragkit.json("documents", "show", str(_id(ragkit, place["document"])))
    assert shown["text"][place["start"] : place["end"]] == place["text"]


def test_the_result_is_broken_down_by_kind(ragkit: Commands) -> None:
    made = ragkit("eval", "testset", "--out", "kinds.jsonl").stdout
    assert re.search(r"\n +\d+  number +how many, how long, when", made)
    assert "→ no document answers this" in made
    assert "how good answers to your users' own questions are, only those can show" in made
    told = ragkit("eval", "rag", "kinds.jsonl", "--out", "kinds-run.jsonl").stdout
    assert "answer_score by kind" in told
    for kind in ("number, zh, answerable", "number, en, answerable", "unknown-term, zh"):
        assert kind in told
    report = ragkit("eval", "report", "kinds-run.jsonl").stdout
    assert "| number, zh, answerable |" in report


def test_sentences_to_complete_alone_are_made_on_demand(ragkit: Commands) -> None:
    asked = ("--out", "cloze.jsonl", "--method", "cloze", "--unanswerable", "0")
    assert ragkit.json("eval", "testset", *asked)["kinds"] == {"cloze": 3}
    texts = {row["question"] for row in _rows(ragkit.folder / "cloze.jsonl")}
    assert "填空（见机房）：机房温度应保持在____℃，相对湿度不得超过百分之六十。" in texts


def _id(ragkit: Commands, uri: str) -> int:
    listed = ragkit.json("documents", "list")["documents"]
    return next(int(one["id"]) for one in listed if one["uri"].endswith(f"/{uri}"))


def test_fewer_questions_than_asked_for_are_told(ragkit: Commands) -> None:
    done = ragkit(
        "eval", "testset", "--out", "few.jsonl", "--questions", "9", "--language", "zh", code=3
    )
    assert "3 questions about 1 of 1 documents (by rules), 2 of them unanswerable" in done.stdout
    assert "Note: the documents gave 1 answerable questions of 7." in done.stdout
    assert "no interval can be told" in done.stdout


def test_a_language_model_writes_them(ragkit: Commands) -> None:
    reply = json.dumps(
        {
            "quote": "The PX-300 pump needs 42 litres of cooling water in each hour of its work.",
            "question": "How much water does a PX-300 use hourly?",
            "answer": "42 litres",
        }
    )
    with StubServer(lambda messages: reply) as stub:
        done = ragkit(
            *("eval", "testset", "--out", "llm.jsonl", "--questions", "1", "--language", "en"),
            "--json",
            RAGKIT_LLM_URL=stub.url,
            RAGKIT_LLM_MODEL="stub",
        )
    said = json.loads(done.stdout)
    assert (said["method"], said["model"], said["questions"]) == ("llm", "stub", 1)
    assert len(said["prompt"]) == 12
    (row,) = _rows(ragkit.folder / "llm.jsonl")
    assert row["question"] == "How much water does a PX-300 use hourly?"
    assert row["spans"][0]["text"].startswith("The PX-300 pump needs 42 litres")


def test_mistakes_are_one_line_and_leave_nothing(ragkit: Commands) -> None:
    (ragkit.folder / "mine.jsonl").write_text("corrected by hand\n", encoding="utf-8")
    for arguments, message in (
        (("--out", "mine.jsonl"), "mine.jsonl is already there: name another file, or remove it"),
        (("--out", "x.jsonl", "-c", "empty"), "'empty' has no documents: take some in with"),
        (("--out", "x.jsonl", "--method", "llm"), "no language model is set: set RAGKIT_LLM_URL"),
    ):
        assert message in ragkit.error("eval", "testset", *arguments, code=2)
    assert (ragkit.folder / "mine.jsonl").read_text(encoding="utf-8") == "corrected by hand\n"
    assert not (ragkit.folder / "x.jsonl").exists()
