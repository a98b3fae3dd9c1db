"""`ragkit` as processes that are killed, stopped and run side by side; and folders of files.

Each command is a process of its own, forked from one that has imported torch and the rest already:
to import them takes more time than all that most of these commands do.
"""

import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragkit.store.connection.connect import connect

PATIENCE_S = 240

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    "ragkit.cli.main ragkit.settings.settings ragkit.knowledge.base ragkit.embed.local"
    " ragkit.embed.bert ragkit_ingest.cli.ingest ragkit_ingest.cli.worker ragkit_ingest.run.run"
    " ragkit_ingest.worker.worker"
    " psycopg_pool Stemmer tokenizers torch".split()
)


class Command:
    """A command at work on a database; `settings` are RAGKIT_ variables without that prefix.

    `prepare`, a function of a module, is called in the process before the command.
    """

    def __init__(
        self,
        database: str | None,
        arguments: Sequence[str],
        settings: Mapping[str, str],
        prepare: Callable[[], None] | None = None,
    ) -> None:
        given = {f"RAGKIT_{name.upper()}": value for name, value in settings.items()}
        if database is not None:
            given["RAGKIT_DATABASE_URL"] = database
        environment = {**os.environ, **given}  # as it is now, not as it was at the first fork
        self._out = tempfile.NamedTemporaryFile("r", encoding="utf-8")  # noqa: SIM115
        self._err = tempfile.NamedTemporaryFile("r", encoding="utf-8")  # noqa: SIM115
        arguments_of_run = (arguments, environment, self._out.name, self._err.name, prepare)
        self._process = _FORKING.Process(target=_run, args=arguments_of_run, daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def is_running(self, wait_s: float = 0) -> bool:
        """Wait for the command's end for a while; tell whether it is still running."""
        self._process.join(wait_s)
        return self._process.is_alive()

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process, if it still runs, and wait for its end."""
        self._process.kill()
        self._process.join()

    @property
    def output(self) -> str:
        """What the process has written to standard output up to now."""
        return Path(self._out.name).read_text()

    @property
    def errors(self) -> str:
        """What the process has written to standard error up to now."""
        return Path(self._err.name).read_text()

    def end(self) -> tuple[int | None, str, str]:
        """Wait for the end; return the exit code and what was said on both outputs."""
        self._process.join(PATIENCE_S)
        with self._out, self._err:
            return self._process.exitcode, self._out.read(), self._err.read()


def _run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    out: str,
    err: str,
    prepare: Callable[[], None] | None,
) -> None:
    from ragkit.cli.main import main

    os.environ.clear()
    os.environ.update(environment)
    for stream, path in ((sys.stdout, out), (sys.stderr, err)):
        os.dup2(os.open(path, os.O_WRONLY), stream.fileno())
    sys.argv = ["ragkit", *arguments]
    if prepare is not None:
        prepare()
    main()


def start(database: str | None, *arguments: str, **settings: str) -> Command:
    """Start a command on a database; `settings` are RAGKIT_ variables without that prefix.

    Without an address the command uses the embedded database.
    """
    return Command(database, arguments, settings)


def finish(command: Command) -> dict[str, Any]:
    """Wait for a command's good end and return the JSON that it printed."""
    code, out, err = command.end()
    assert code == 0, err
    result: dict[str, Any] = json.loads(out)
    return result


def until(ready: Callable[[], bool], command: Command, what: str) -> None:
    """Return as soon as something is so, while a command is at work."""
    end = time.monotonic() + PATIENCE_S
    while not ready():
        assert command.is_running(wait_s=0.01), f"the command ended before {what}"
        assert time.monotonic() < end, f"waited for {what}"


@contextmanager
def locked(database: str, statement: str) -> Iterator[None]:
    """Keep the locks that an SQL statement takes until the end, also of the whole database."""
    with closing(connect(database)) as conn:
        conn.execute("BEGIN")
        conn.execute(statement.encode())
        yield


def running(database: str, name: str) -> Callable[[], bool]:
    """Return what tells whether a file of that name is being worked on."""

    def is_running() -> bool:
        with connect(database) as conn:
            table = conn.execute("SELECT to_regclass('job')").fetchone()
            if table == (None,):
                return False
            query = "SELECT 1 FROM job WHERE state = 'running' AND uri LIKE %s"
            return conn.execute(query, (f"%{name}",)).fetchone() is not None

    return is_running


def write_file(path: Path, version: int, paragraphs: int = 3) -> None:
    """Write a file whose every paragraph says which file and which version it is of."""
    seed = random.Random(f"{path.name} {version}")
    lines = [f"# File {path.stem}\n"]
    for number in range(paragraphs):
        load = seed.randrange(10_000)
        lines.append(
            f"Paragraph {number} of version{version} of {path.stem} says that the wing carries"
            f" {load} kg when the air is still, and {load // 2} kg in a gust. " * 4 + "\n"
        )
    path.write_text("\n".join(lines))


def contents(database: str) -> Sequence[tuple[Any, ...]]:
    """Everything that a search reads but vectors, without the numbers that a run gives out."""
    with connect(database) as conn:
        return conn.execute(
            "SELECT d.uri, d.content_hash, d.fingerprint, d.text, c.ordinal, c.start_char,"
            " c.end_char, c.tokens, c.terms FROM document d JOIN chunk c ON c.document_id = d.id"
            " ORDER BY d.uri, c.ordinal"
        ).fetchall()


def vectors(database: str) -> NDArray[np.float64]:
    """The vectors of all chunks in the order of `contents`: shape (chunks, dimension).

    They are not the same to the last digit: that depends on what was embedded together. See
    `least_cosine`.
    """
    with connect(database) as conn:
        rows = conn.execute(
            "SELECT v.embedding::text FROM document d JOIN chunk c ON c.document_id = d.id"
            " JOIN vectors_1 v ON v.chunk_id = c.id ORDER BY d.uri, c.ordinal"
        ).fetchall()
    return np.array([json.loads(row[0]) for row in rows])


def least_cosine(database: str, other: str) -> float:
    """Return the least cosine of two databases' vectors of the same chunk."""
    return float((vectors(database) * vectors(other)).sum(axis=1).min())
