"""`ragkit chat` as it is typed: through a pipe, and in a terminal with Ctrl-C and Ctrl-D."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit import Settings
from ragkit.cli.main import app
from ragkit.contracts import Embedder
from ragkit.errors import RagkitError
from ragkit.store.open import open_database
from ragkit.store.people.conversations import Conversations
from ragkit.testing.corpus import CORPUS, fill, new_document
from ragkit.testing.stub_server.server import Fault, Reply
from ragkit_serve import StubServer
from tests.databases import Databases

WAIT_S = 60
# Ctrl-C comes from the terminal that controls a session.
IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
HOLIDAY = "How many days of paid holiday are there?"


@pytest.fixture(scope="module")
def url(databases: Databases, loaded_embedder: Embedder) -> Iterator[str]:
    """The address of a database with three documents."""
    with databases.take() as url:
        with open_database(Settings(database_url=SecretStr(url))) as database:
            fill(database.store("default"), loaded_embedder, CORPUS)
        yield url


@pytest.fixture
def mine(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Conversations]:
    """The conversations of a new user, whose settings are those of the commands."""
    principal = uuid.uuid4().hex
    for name in [name for name in os.environ if "RAGKIT_" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", url)
    monkeypatch.setenv("RAGKIT_PRINCIPAL", principal)
    monkeypatch.chdir(tmp_path)
    with open_database(Settings(database_url=SecretStr(url))) as database:
        yield Conversations(database.pool, "default", principal)


def chat(typed: bytes, *options: str, code: int = 0, **variables: str) -> tuple[str, str]:
    """Pipe lines into `ragkit chat`; return what it printed, and its errors."""
    done = CliRunner().invoke(app, ["chat", *options], input=typed, env=variables)
    if isinstance(done.exception, RagkitError):
        assert done.exception.exit_code == code
        return done.stdout, str(done.exception)
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout, done.stderr


@pytest.mark.parametrize("word", ["quit", "Exit", "退出", "/quit"])
def test_a_word_ends_the_chat_as_in_other_programs(mine: Conversations, word: str) -> None:
    out, _ = chat(f"{word}\n{HOLIDAY}\n".encode())
    assert "28 days" not in out


def test_a_pipe_is_a_conversation(mine: Conversations, tmp_path: Path) -> None:
    typed = (
        f"{HOLIDAY}\n\nWhen do they lapse?\n/sources\n/history\n/help\n"
        "/export out.json\n/export out.md\n/export out.md\n/histry\n/quit now\n？！\n"
        "/new\n差旅报销须在几天内提交？\n/delete\n/history\n/quit\nnot read\n"
    )
    out, err = chat(typed.encode(), code=3)
    assert f"> {HOLIDAY}\nEvery employee has 28 days of paid holiday. [1]" in out
    assert "[1] Leave (leave.md)" in out
    assert "Searched for: When do they lapse? (days paid holiday)" in out
    assert "/export FILE" in out
    assert out.count("lapse at the end of March") >= 3  # answer, /sources, /history
    assert "须在三十天内提交" in out
    assert "Nothing has been asked yet." in out
    assert "not read" not in out
    errors = err.splitlines()
    assert [line.split(":")[1].strip()[:30] for line in errors] == [
        "out.md is there already",
        "there is no command '/histry'",
        "/quit takes no arguments",
    ]
    exported = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [turn["question"] for turn in exported["turns"]] == [HOLIDAY, "When do they lapse?"]
    assert (tmp_path / "out.md").read_text(encoding="utf-8").startswith(f"# {HOLIDAY}\n")
    assert (tmp_path / "out.md").stat().st_mode & 0o777 == 0o600
    (kept,) = mine.all()
    assert (kept.title, kept.turns) == (HOLIDAY, 3)


def test_the_last_question_is_asked_again_or_another_in_its_place(mine: Conversations) -> None:
    typed = f"/again\nWho flew the Otter?\n/again\n/again {HOLIDAY}\n/history\n"
    out, err = chat(typed.encode(), code=3)
    assert err == "ragkit: there is no answer to replace yet: ask a question first\n"
    assert out.count("28 days of paid holiday. [1]") == 2  # the answer, /history
    (kept,) = mine.all()
    (turn,) = mine.turns(kept.id)
    assert (turn.ordinal, turn.question) == (3, HOLIDAY)
    assert f"\n1. {HOLIDAY}\n" in out


def test_it_begins_a_new_conversation_or_continues_one(mine: Conversations) -> None:
    ask = b"How many days of paid holiday?\n"
    out, err = chat(ask, "--continue", code=2)
    assert (out, err) == (
        "",
        "there is no conversation about collection 'default' yet:"
        " leave --continue out to begin one",
    )
    chat(ask)
    chat(ask, "--continue")
    (first,) = mine.all()
    assert first.turns == 2
    chat(ask)
    assert [one.turns for one in mine.all()] == [1, 2]
    chat(ask, "--conversation", str(first.id)[:13])
    assert mine.get(first.id).turns == 3
    for options, said in (
        (("--conversation", "ffff0000"), "there is no conversation 'ffff0000'"),
        (("--conversation", str(first.id), "--continue"), "not both"),
        (("--conversation", str(first.id), "--collection", "x"), "is about collection 'default'"),
    ):
        out, err = chat(ask, *options, code=2)
        assert out == ""
        assert said in err
    out, err = chat(ask, RAGKIT_PRINCIPAL="you", code=0)
    assert mine.get(first.id).turns == 3


def test_a_chat_about_a_time_answers_from_the_versions_of_then(
    mine: Conversations, url: str, loaded_embedder: Embedder
) -> None:
    with open_database(Settings(database_url=SecretStr(url), keep_versions=1)) as database:
        for text in ("The lease ends in March.", "The lease ends in June."):
            moment = datetime.now(UTC)
            fill(
                database.store("default"),
                loaded_embedder,
                [new_document("lease.md", text)],
                "leases",
            )
    asked = b"When does the lease end?\nAnd how does the lease end?\n"
    then = ("--collection", "leases", "--as-of", moment.isoformat())
    told, _ = chat(asked, *then)
    assert (told.count("The lease ends in March. [1]"), "June" in told) == (2, False)
    # Gone on with today, it takes up nothing of what was current then.
    told, _ = chat(b"And how does the lease end?\n", "--collection", "leases")
    assert ("ends in June" in told, "March" in told) == (True, False)


def test_an_answer_that_fails_does_not_end_the_chat(mine: Conversations) -> None:
    def script(messages: Sequence[Mapping[str, Any]]) -> str | Reply | Fault:
        last = str(messages[-1]["content"])
        if "unlucky" in last:
            return Fault(cut="quiet", text="There are tw")
        return Reply("28 days [1].", reasoning="Let me think.")

    typed = b"How many days of holiday, unlucky?\nHow many days of holiday \xff?\n"
    with StubServer(script) as server:
        url = server.url
        out, err = chat(typed, code=3, RAGKIT_LLM_URL=url, RAGKIT_LLM_MODEL="stub")
        assert re.search(r"\nThere are.*\n> How many", out)  # what came, then the next question
        assert "28 days [1]." in out
        assert len(err.splitlines()) == 1
        assert "Let me think." not in out + err
        (kept,) = mine.all()
        (turn,) = mine.turns(kept.id)
        assert turn.question == "How many days of holiday \ufffd?"
        out, err = chat(
            b"Holiday?\n", "--show-reasoning", RAGKIT_LLM_URL=url, RAGKIT_LLM_MODEL="stub"
        )
        assert "Let me think." in err
        assert "Let me think." not in out


class Terminal:
    """A program in a terminal of its own: what it shows, and what is typed to it."""

    def __init__(self, *arguments: str) -> None:
        self.shown = ""
        self._master, slave = pty.openpty()
        command = [sys.executable, "-c", IN_TERMINAL, sys.executable, "-m", "ragkit", *arguments]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)

    def wait_for(self, text: str, *, after: int = 0) -> int:
        """Read until a text is shown; return the place behind it."""
        place = self._read_until(text, after, WAIT_S)
        assert place is not None, f"no {text!r} in {self.shown!r}"
        return place

    def interrupt_line(self, text: str, *, after: int) -> int:
        """Type Ctrl-C until a text is shown; return the place behind it.

        One that comes just before Python begins to wait for a key is not seen until the next.
        """
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            self.type("\x03")
            if (place := self._read_until(text, after, 2)) is not None:
                return place
        raise AssertionError(f"no {text!r} in {self.shown!r}")

    def _read_until(self, text: str, after: int, wait_s: float) -> int | None:
        deadline = time.monotonic() + wait_s
        while text not in self.shown[after:]:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._master], [], [], left)[0]:
                return None
            self.shown += os.read(self._master, 4096).decode("utf-8", "replace")
        return self.shown.index(text, after) + len(text)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait(WAIT_S)
        os.close(self._master)


@pytest.mark.long
def test_ctrl_c_cancels_the_answer_and_ctrl_d_ends_the_chat(
    mine: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(messages: Sequence[Mapping[str, Any]]) -> str | Reply:
        if "endless" in str(messages[-1]["content"]):
            return Reply("on and " * 9999, delay_s=0.02)
        return "28 days [1]."

    with StubServer(script) as server:
        monkeypatch.setenv("RAGKIT_LLM_URL", server.url)
        monkeypatch.setenv("RAGKIT_LLM_MODEL", "stub")
        monkeypatch.setenv("TERM", "dumb")
        terminal = Terminal("chat")
        try:
            terminal.wait_for("Ctrl-D quits.")
            place = terminal.wait_for("> ")
            terminal.type("How many days of holiday, endless?\n")
            place = terminal.wait_for("on and on and", after=place)
            terminal.type("\x03")
            place = terminal.wait_for(
                "Cancelled: this question and answer are not saved.", after=place
            )
            assert "\n[1]" not in terminal.shown  # it would have gone on for minutes
            place = terminal.wait_for("> ", after=place)
            terminal.type("half a line")
            place = terminal.wait_for("half a line", after=place)
            place = terminal.interrupt_line("> ", after=place)
            terminal.type("How many days of holiday?\n")
            place = terminal.wait_for("28 days [1].", after=place)
            terminal.wait_for("> ", after=place)
            terminal.type("\x04")
            assert terminal.process.wait(WAIT_S) == 0
        finally:
            terminal.close()
        assert len(server.disconnects) == 1
    (kept,) = mine.all()
    assert [turn.question for turn in mine.turns(kept.id)] == ["How many days of holiday?"]


@pytest.mark.usefixtures("mine")
def test_a_missing_entailment_model_ends_the_chat_before_a_question() -> None:
    out, error = chat(HOLIDAY.encode(), code=1, RAGKIT_NLI_MODEL="nobody/nothing")
    assert out == ""
    assert "or unset RAGKIT_NLI_MODEL" in error
