"""`ragkit tune data` as a user types it: rules alone, on documents that went through ingestion."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ragkit.errors import RagkitError
from ragkit.testing.stub_server.server import StubServer
from ragkit_tune.data.data_set import read_data_set, read_pairs
from ragkit_tune.data.rules import how_made, make_labels
from ragkit_tune.recipe import make_recipe
from tests.commands import Commands

TRAINED = make_recipe({"kind": "embedder", "base": "-", "data": "-"}).max_tokens
TOWNS = ("Arklow", "Bray", "Cashel", "Dingle", "Ennis", "Foynes", "Gorey", "Howth")
ROOMS = ("苏州", "成都", "哈尔滨", "杭州")


@pytest.fixture(scope="module")
def ragkit(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Commands on a database that has some documents in two languages."""
    name = sql.Identifier("test_cli_data")
    folder = tmp_path_factory.mktemp("data")
    (folder / "texts").mkdir()
    for n, town in enumerate(TOWNS, 11):
        (folder / "texts" / f"{town.lower()}.md").write_text(english(town, n), encoding="utf-8")
    for n, room in enumerate(ROOMS, 11):
        (folder / "texts" / f"{room}.md").write_text(chinese(room, n), encoding="utf-8")
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
        commands = Commands(database_url.replace("/postgres?", "/test_cli_data?"), folder)
        commands("ingest", "texts")
        yield commands
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def english(town: str, n: int) -> str:
    return (
        f"# The plant in {town}\n\n## Cooling in {town}\n\nThe pumps of {town} need {n}2 litres of"
        f" cooling water in each hour of their work.\n\n## Staff in {town}\n\nMechanics in {town}"
        f" replace the filters of all machines after {n}0 days of continuous operation, and write"
        f" that down.\n\n## Visitors in {town}\n\nVisitors to {town} wait for at most {n} minutes"
        f" in the room beside the gate.\n\n## Machines in {town}\n\n| Machine | Weight | Power |\n|"
        f" - | - | - |\n| {town} press | {n}00 kg | {n} kW |\n| {town} lathe | {n}40 kg | {n}5 kW"
        " |\n"
    )


def chinese(room: str, n: int) -> str:
    return (
        f"# {room}机房\n\n## {room}环境\n\n{room}机房的温度应保持在{n}℃，"
        "相对湿度不得超过百分之六十。\n\n"
        f"## {room}巡检\n\n{room}机房的值班人员每{n}小时巡检一次，并把结果记录在登记表上。\n"
    )


@pytest.mark.long
def test_rows_are_made_by_rules_that_can_be_trained_on(ragkit: Commands) -> None:
    card = ragkit.json("tune", "data", "--out", "rows", "--seed", "1", "--ask", "3")
    folder: Path = ragkit.folder / "rows"
    data = read_data_set(folder)
    assert (card["hash"], card["counts"]) == (data.hash, data.counts)
    assert {"headings", "tables"} <= set(card["how"])
    assert set(card["quality"]["languages"]) == {"en", "zh"}
    assert card["clusters"]["documents"] == 12
    assert data.counts["test"] > 10
    assert card["written_by"] == ""
    listed = ragkit.json("documents", "list")["documents"]
    numbers = {row["uri"]: str(row["id"]) for row in listed}
    texts = {uri: ragkit.json("documents", "show", n)["text"] for uri, n in numbers.items()}
    for pair in read_pairs(data.path("train")) + read_pairs(data.path("dev")):
        assert pair.positive == texts[pair.document][pair.start : pair.end]
    tags = [json.loads(line)["tags"]["how"] for line in data.path("test").open(encoding="utf-8")]
    assert "cloze" not in tags
    assert len((folder / "ask.jsonl").read_bytes().splitlines()) == 3
    measured = ragkit.json("eval", "retrieval", "rows/test.jsonl", "-c", "default")
    assert measured


@pytest.mark.long
def test_few_rows_end_in_a_list_and_a_command_that_works(ragkit: Commands) -> None:
    few = ("tune", "data", "--out", "few", "--rows", "45", "--ask", "30")
    shown = ragkit(*few)
    (line,) = shown.stdout.splitlines()
    assert line.startswith("No rows yet: only 45 rows could be made by headings, tables")
    assert [file.name for file in (ragkit.folder / "few").iterdir()] == ["ask.jsonl"]
    asked = ragkit.folder / "few" / "ask.jsonl"
    lines = [json.loads(row) for row in asked.read_text(encoding="utf-8").splitlines()]
    for n, row in enumerate(lines):
        row["question"] = f"What does the reader learn from part {n}?"
    asked.write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    command = shlex.split(line.partition("`")[2].rstrip("`"))
    assert command[:3] == ["ragkit", "tune", "data"]
    card = ragkit.json(*command[1:])
    assert card["how"]["labelled"] > 0
    assert sum(card["counts"].values()) >= 50


@pytest.mark.long
def test_a_test_about_few_documents_is_warned_of(ragkit: Commands) -> None:
    made = ragkit("tune", "data", "--out", "warned")
    card = json.loads((ragkit.folder / "warned" / "card.json").read_text(encoding="utf-8"))
    assert 500 < card["quality"]["max_tokens"] <= TRAINED  # the model reads a little less
    assert ("Warning: The questions to test by are about only" in made.stderr) == (
        card["clusters"]["test"] < 6
    )
    assert card["clusters"]["test"] < 6


@pytest.mark.long
def test_a_language_model_asks_and_is_named(
    ragkit: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", ragkit.environment["RAGKIT_DATABASE_URL"])
    monkeypatch.delenv("RAGKIT_LLM_URL", raising=False)
    with pytest.raises(
        RagkitError,
        match="no language model is set: set RAGKIT_LLM_URL, or leave out asked in --how",
    ):
        make_labels("default", ["asked"], count=2, language="en", seed=0)

    def reply(messages: Sequence[Mapping[str, Any]]) -> str:
        town = next(town for town in TOWNS if f"plant in {town}" in messages[-1]["content"])
        number = 11 + TOWNS.index(town)
        return json.dumps(
            {
                "quote": f"Visitors to {town} wait for at most {number} minutes",
                "question": f"How long does a guest have to be patient at {town}?",
                "answer": f"{number} minutes",
            }
        )

    with StubServer(reply) as stub:
        monkeypatch.setenv("RAGKIT_LLM_URL", stub.url)
        monkeypatch.setenv("RAGKIT_LLM_MODEL", "stub")
        labels, model = make_labels("default", ["asked"], count=2, language="en", seed=0)
    assert model == "stub"
    assert [how_made(label) for label in labels] == ["asked", "asked"]
    assert {len(label.spans) for label in labels} == {1}


def test_what_cannot_be_made_is_said_in_a_line(fresh_database: str, tmp_path: Path) -> None:
    ragkit = Commands(fresh_database, tmp_path)
    ragkit("collections", "create", "empty")
    (ragkit.folder / "full").mkdir()
    (ragkit.folder / "full" / "file").touch()
    assert "full is already there: name another folder, or remove it" in ragkit.error(
        "tune", "data", "--out", "full", code=2
    )
    assert "--how 'guesses' is unknown: choose among headings, tables" in ragkit.error(
        "tune", "data", "--out", "new", "--how", "headings,guesses", code=2
    )
    assert "collection 'empty' has no documents" in ragkit.error(
        "tune", "data", "--out", "new", "-c", "empty", code=2
    )


@pytest.mark.long
def test_chats_are_made_of_labelled_answers(ragkit: Commands) -> None:
    """Twelve documents do not make the fifty rows that a model needs; the line says what does."""
    rules = ("--method", "rules", "--unanswerable", "0", "--out", "answered.jsonl")
    ragkit("eval", "testset", *rules, "--questions", "500", code=3)  # fewer could be made
    chats = ("tune", "data", "--kind", "chat", "--out", "chats")
    *_, line = ragkit(*chats, "--set", "answered.jsonl", code=2).stderr.splitlines()
    assert re.match(r"ragkit: only \d\d rows could be made .*: a model needs 50 at least: ", line)
    for option in (("--ask", "5"), ("--test-share", "0.5")):
        assert "--how, --ask, --rows and --test-share do not go with --kind chat" in ragkit.error(
            *chats, *option, code=2
        )
