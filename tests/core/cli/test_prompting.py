"""`ragkit ask` with examples, steps, samples and thoughts, against a scripted server."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from ragkit.cli.prompting import read_examples
from ragkit.errors import NotFoundError, UsageError
from ragkit.prompts.prompting import Example
from ragkit.testing.stub_server.script import Messages
from ragkit.testing.stub_server.server import StubServer
from tests.commands import Commands

ROWS = """{"question": "Who pays?", "answer": "The firm pays [1]."}

{"question": "谁付钱？", "answer": "公司付[1]。"}
"""


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer() as stub:
        yield stub


@pytest.fixture
def ragkit(fresh_database: str, tmp_path: Path, server: StubServer) -> Commands:
    commands = Commands(fresh_database, tmp_path)
    commands.environment |= {"RAGKIT_LLM_URL": server.url, "RAGKIT_JOBS": "1"}
    (tmp_path / "a.md").write_text("# Leave\n\nEvery employee has 28 days of paid holiday.\n")
    (tmp_path / "examples.jsonl").write_text(ROWS)
    commands("ingest", "a.md")
    return commands


def test_all_ways_of_asking(ragkit: Commands, server: StubServer) -> None:
    days = count()

    def script(messages: Messages) -> str:
        number = 30 if next(days) == 0 else 28
        return f"Source 1 says it.\n### Answer\nEvery employee has {number} days of holiday [1]."

    server.script = script
    options = ("--examples", "examples.jsonl", "--steps", "--samples", "3")
    answer = ragkit.json("ask", "How many days of holiday?", *options)
    assert answer["answer"] == "Every employee has 28 days of holiday [1]."
    assert answer["reasoning"] == "Source 1 says it."
    assert {name: answer["prompting"][name] for name in ("examples", "steps", "samples")} == {
        "examples": 2, "steps": True, "samples": 3,
    }  # fmt: skip
    assert sorted(answer["prompting"]["agreeing"]) == [0, 1, 1]
    assert len(server.chats) == 3
    assert "The firm pays [1]." in server.chats[0].body["messages"][0]["content"]
    shown = ragkit("ask", "How many days of holiday?", "--steps").stdout
    assert shown.startswith("Every employee has 28 days")
    assert "Source 1 says it" not in shown
    assert ragkit.json("ask", "How many days of holiday?")["prompting"] == {}

    replies = iter(["How long is holiday?\nWho has holiday?", "ENOUGH", "ENOUGH"])

    def thinking(messages: Messages) -> str:
        is_answer = messages[0]["role"] == "system"
        return "Every employee has 28 days [1]." if is_answer else next(replies)

    server.script = thinking
    asked = ("ask", "How many days of holiday?", "--agent", "--thoughts", "2")
    traced = ragkit.json(*asked)
    assert traced["answer"] == "Every employee has 28 days [1]."
    assert [step["kind"] for step in traced["steps"]] == [
        "search", "model", "search", "search", "model", "model",
    ]  # fmt: skip
    assert traced["steps"][2]["followed"] is True
    assert 0 < traced["steps"][2]["score"] <= 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "has no example: write a line"),
        ("{", r"examples.jsonl:1: not JSON"),
        ("[1]", r"examples.jsonl:1: no question: write a text for it"),
        ('{"question": "a", "answer": 7}', r"examples.jsonl:1: no answer: write a text for it"),
        (" " * 1_000_001, "has 1,000,001 bytes: examples have at most 1,000,000"),
    ],
)
def test_a_wrong_file_of_examples_is_one_line(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "examples.jsonl"
    file.write_text(content)
    with pytest.raises(UsageError, match=problem):
        read_examples(file)


def test_examples_are_read_in_order(tmp_path: Path) -> None:
    file = tmp_path / "examples.jsonl"
    file.write_text(ROWS)
    assert read_examples(file) == (
        Example("Who pays?", "The firm pays [1]."), Example("谁付钱？", "公司付[1]。"),
    )  # fmt: skip
    with pytest.raises(NotFoundError, match="cannot be read: No such file"):
        read_examples(tmp_path / "nothing.jsonl")
