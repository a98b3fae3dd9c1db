"""What one operation takes: `python -m tests.tracing`.

For a warm `ask`, one changed file ingested and a warm chat request over HTTP it prints how many
files and functions of ragkit are entered, how many frames of ragkit stand on the deepest stack, and
how many transactions and statements are sent to PostgreSQL. BEGIN counts as a statement, COMMIT
does not. Of a chat request the frames of the server's own threads are not seen.
"""

import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg

from tests.places import ROOT

PACKAGES = tuple(f"{ROOT}/{part}/" for part in ("ragkit", "ingest", "serve", "eval", "tune"))


@dataclass
class Trace:
    """Files and functions that were entered, the deepest stack, and statements in their order."""

    files: set[str] = field(default_factory=set)
    functions: set[tuple[str, str, int]] = field(default_factory=set)
    frames: int = 0
    statements: list[str] = field(default_factory=list)

    @property
    def transactions(self) -> int:
        """Count the transactions that were begun, and the statements outside of any."""
        return sum(statement.upper().startswith("BEGIN") for statement in self.statements)

    def __str__(self) -> str:
        return (
            f"{len(self.files)} files, {len(self.functions)} functions, {self.frames} frames, "
            f"{self.transactions} transactions, {len(self.statements)} statements"
        )


@contextmanager
def recording() -> Iterator[Trace]:
    """Record what this thread, and the threads that it starts, do meanwhile."""
    trace = Trace()

    def on_call(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(PACKAGES):
            return
        code = frame.f_code
        trace.files.add(code.co_filename)
        trace.functions.add((code.co_filename, code.co_name, code.co_firstlineno))
        depth = 0
        caller: FrameType | None = frame
        while caller is not None:
            depth += caller.f_code.co_filename.startswith(PACKAGES)
            caller = caller.f_back
        trace.frames = max(trace.frames, depth)

    with statements_into(trace.statements):
        threading.setprofile(on_call)
        sys.setprofile(on_call)
        try:
            yield trace
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


@contextmanager
def statements_into(statements: list[str]) -> Iterator[None]:
    """Append every statement that any connection of this process sends meanwhile."""
    execute, executemany = psycopg.Cursor.execute, psycopg.Cursor.executemany
    copy, command = psycopg.Cursor.copy, psycopg.Connection._exec_command

    def text(query: Any) -> str:
        return " ".join((query.decode() if isinstance(query, bytes) else str(query)).split())

    def recorded(method: Any) -> Any:
        def call(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
            statements.append(text(query))
            return method(cursor, query, *args, **options)

        return call

    def recorded_command(connection: Any, query: Any, *args: Any, **options: Any) -> Any:
        if not text(query).upper().startswith(("COMMIT", "ROLLBACK")):
            statements.append(text(query))
        return command(connection, query, *args, **options)

    replaced: Any = psycopg.Cursor
    replaced.execute, replaced.executemany = recorded(execute), recorded(executemany)
    replaced.copy = recorded(copy)
    connection: Any = psycopg.Connection
    connection._exec_command = recorded_command
    try:
        yield
    finally:
        replaced.execute, replaced.executemany, replaced.copy = execute, executemany, copy
        connection._exec_command = command


QUESTION = "How long does green tea steep?"


def trace_chat() -> Iterator[tuple[str, Trace]]:
    """Trace a warm chat request, in the knowledge base that `trace_ask_and_add` filled."""
    from starlette.testclient import TestClient

    from ragkit.access.library import Library
    from ragkit.settings.settings import load_settings
    from ragkit.store.open import open_database
    from ragkit_serve.api.app import create_app
    from ragkit_serve.api.services import Services

    settings = load_settings()
    with open_database(settings) as database:
        app = create_app(Services(settings, database, Library(settings, database)), ui=False)
        client = TestClient(app, "http://127.0.0.1")
        body = {"model": "ragkit", "messages": [{"role": "user", "content": QUESTION}]}

        def ask() -> None:
            answer = client.post("/v1/chat/completions", json=body)
            assert answer.status_code == 200, answer.text
            assert "minutes" in answer.json()["choices"][0]["message"]["content"]

        for _ in range(3):
            ask()
        with recording() as trace:
            ask()
        yield "chat request", trace


def trace_ask_and_add() -> Iterator[tuple[str, Trace]]:
    """Trace a warm question, and one changed file, in a knowledge base of two documents."""
    from ragkit import KnowledgeBase

    with KnowledgeBase.open() as knowledge, tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tea.md")
        file.write_text("# Tea\n\nGreen tea steeps for two minutes at 80 degrees.\n")
        Path(folder, "coffee.md").write_text("# Coffee\n\nCoffee brews for four minutes.\n")
        knowledge.add(folder)
        for _ in range(3):
            answer = knowledge.ask(QUESTION)
        assert not answer.refused, answer
        with recording() as trace:
            knowledge.ask(QUESTION)
        yield "ask", trace
        file.write_text("# Tea\n\nGreen tea steeps for three minutes at 80 degrees.\n")
        with recording() as trace:
            knowledge.add(file)
        yield "one changed file", trace


def main() -> None:
    """Print the figures of each operation; with `--json` also every statement."""
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o711)  # PostgreSQL of a root runs as another user, who passes it
        os.environ["RAGKIT_HOME"] = home
        for name, trace in chain(trace_ask_and_add(), trace_chat()):
            print(f"{name:18} {trace}", flush=True)
            if "--json" in sys.argv:
                print(json.dumps(trace.statements, indent=1))


if __name__ == "__main__":
    main()
