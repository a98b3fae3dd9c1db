"""`ragkit` as processes that are killed, stopped and run side by side; and folders of files."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragkit.store.connect import connect

PATIENCE_S = 240


def start(database: str, *arguments: str, **settings: str) -> subprocess.Popen[str]:
    """Start a command on a database; `settings` are RAGKIT_ variables without that prefix."""
    own = {f"RAGKIT_{name.upper()}": value for name, value in settings.items()}
    return subprocess.Popen(
        [sys.executable, "-m", "ragkit", *arguments],
        env=os.environ | {"RAGKIT_DATABASE_URL": database} | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], code: int = 0) -> dict[str, Any]:
    """Wait for a command's end and return the JSON that it printed."""
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code, err
    result: dict[str, Any] = json.loads(out)
    return result


def until(ready: Callable[[], bool], process: subprocess.Popen[str], what: str) -> None:
    """Return as soon as something is so, while a command is at work."""
    end = time.monotonic() + PATIENCE_S
    while not ready():
        assert process.poll() is None, f"the command ended before {what}"
        assert time.monotonic() < end, f"waited for {what}"


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

    They are not the same to the last digit: that depends on what was embedded together.
    """
    with connect(database) as conn:
        rows = conn.execute(
            "SELECT v.embedding::text FROM document d JOIN chunk c ON c.document_id = d.id"
            " JOIN vectors_1 v ON v.chunk_id = c.id ORDER BY d.uri, c.ordinal"
        ).fetchall()
    return np.array([json.loads(row[0]) for row in rows])
