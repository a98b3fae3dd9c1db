"""`ragkit ask` and `ragkit search` beside a running `ragkit serve`: the same output, at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragkit.cli.local_server import SOCKET, socket_folder
from tests import commands
from tests.serve.web.test_supervise import Program, program

HOUSE = """# The community hall

The hall opens at eight in the morning. A key costs 40 pounds, which you get back.
Dogs may not come into the hall.
"""
HAUS = """# 社区会堂

会堂早上八点开门。钥匙押金为三百元，归还时退回。狗不能进入大厅。
"""


@dataclass(frozen=True)
class Place:
    """A running server, and what its commands need to use it or to do without it."""

    server: Program
    folder: Path
    environment: dict[str, str]

    @property
    def socket(self) -> Path:
        return socket_folder(self.folder / "home") / SOCKET


@pytest.fixture
def place(fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name in [name for name in os.environ if name.startswith("RAGKIT_")]:
        monkeypatch.delenv(name)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "hall.md").write_text(HOUSE)
    (tmp_path / "docs" / "会堂.md").write_text(HAUS)
    ours = {"RAGKIT_DATABASE_URL": fresh_database, "RAGKIT_HOME": str(tmp_path / "home")}
    taken = commands.run("ingest", "docs", folder=tmp_path, environment=ours)
    assert taken.returncode == 0, taken.stderr
    made = commands.run("keys", "create", "--name", "us", folder=tmp_path, environment=ours)
    assert made.returncode == 0, made.stderr  # from now on the HTTP API wants a key
    home = ours["RAGKIT_HOME"]
    with program(fresh_database, tmp_path, "--no-worker", "--no-page", RAGKIT_HOME=home) as server:
        server.url()
        yield Place(server, tmp_path, ours)


def run(place: Place, *arguments: str) -> commands.Result:
    """Run a command in a process that can reach no database by itself."""
    code = (
        "import socket, sys\n"
        "from ragkit.cli import entry\n"
        "sys.modules['psycopg'] = None\n"
        "sys.argv = ['ragkit', *sys.argv[1:]]\n"
        "entry.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | place.environment,
        cwd=place.folder,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return commands.Result(done.stdout, done.stderr, done.returncode)


def alone(place: Place, *arguments: str) -> commands.Result:
    """Run a command that cannot find the server."""
    hidden = place.socket.with_name("hidden")
    place.socket.rename(hidden)
    try:
        return commands.run(*arguments, folder=place.folder, environment=place.environment)
    finally:
        hidden.rename(place.socket)


def without_times(result: commands.Result, arguments: tuple[str, ...]) -> commands.Result:
    if "--json" not in arguments or not result.stdout:
        return result
    value = json.loads(result.stdout)
    value.pop("timings", None)
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return commands.Result(text, result.stderr, result.returncode)


@pytest.mark.long
def test_a_server_makes_the_same_output_as_the_command_itself(place: Place) -> None:
    for arguments in (
        ("ask", "When", "does the hall open?"),
        ("ask", "钥匙的押金是多少？"),
        ("ask", "Who owns the moon?"),
        ("ask", "谁拥有月亮？"),
        ("ask", "Hello!"),
        ("ask", "When does the hall open?", "--json"),
        ("ask", "谁拥有月亮？", "--json"),
        ("ask", "-k", "1", "--mode", "lexical", "-c", "default", "What does a key cost?"),
        ("ask", "What does a key cost?", "--where", "language = \"en\""),
        ("ask", "What does a key cost?", "--where", "language = "),
        ("ask", "What does a key cost?", "--as-of", "yesterday"),
        ("ask", "What does a key cost?", "-c", "nope"),
        ("ask", "What does a key cost?", "-c", "nope", "--json"),
        ("ask", "What does a key cost?", "-k", "0"),
        ("ask", "   "),
        ("search", "hall", "-k", "1"),
        ("search", "大厅", "--json"),
        ("search", "hall", "-c", "nope"),
    ):  # fmt: skip
        served = without_times(run(place, *arguments), arguments)
        assert served == without_times(alone(place, *arguments), arguments), arguments


@pytest.mark.long
def test_the_socket_is_private_and_goes_with_the_server(place: Place) -> None:
    assert place.socket.parent.stat().st_mode & 0o777 == 0o700
    assert place.socket.stat().st_mode & 0o777 == 0o600
    answered = run(place, "ask", "When does the hall open?")
    assert answered.stdout.startswith("The hall opens at eight in the morning. [1]")
    place.environment["RAGKIT_COLLECTION"] = "other"  # other settings than the server's
    assert "psycopg" in run(place, "ask", "When does the hall open?").stderr
    place.server.child.send_signal(signal.SIGTERM)
    assert place.server.child.wait(60) == 0
    assert not place.socket.exists()
