"""The peers of the dense section: each vector store a process in an environment of its own.

They are spoken to as peers/search_peers.py says; what is measured with them is dense_peers.py's.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.environment import peer_python

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = {
    "faiss": "search",
    "chroma": "search",
    "lancedb": "search",
    "qdrant": "search",
    "langchain": "langchain",
}


@dataclass(frozen=True, slots=True)
class VectorStore:
    """A peer that is filled with the drawn vectors, which took `filled_s`."""

    name: str
    process: subprocess.Popen[str]
    filled_s: float

    def search(
        self, query: int, k: int, field: str | None, below: int, effort: int
    ) -> tuple[float, list[int]]:
        """Search for a query by its number; return the seconds and the rows found."""
        said = self.ask(query=query, k=k, field=field, below=below, effort=effort)
        return said["seconds"], said["ids"]

    def sizes(self) -> dict[str, int]:
        """Return the bytes of `disk` and `memory`."""
        return dict(self.ask(sizes=True))

    def ask(self, **asked: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return _said(self.name, self.process)


@contextmanager
def filled(name: str, vectors: Path, url: str) -> Iterator[VectorStore]:
    """Start a peer on the files in `vectors`; those in the database at `url` get one beside it."""
    work = vectors / name
    shutil.rmtree(work, ignore_errors=True)
    command = [str(peer_python(ENVIRONMENTS[name])), str(HERE / "peers/search_peers.py")]
    with _database(url) as own:
        process = subprocess.Popen(
            [*command, name, str(vectors), str(work), own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield VectorStore(name, process, _said(name, process)["ready"])
        finally:
            process.terminate()
            process.wait()
            shutil.rmtree(work, ignore_errors=True)


def _said(name: str, process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{name} failed: its error stands above")
    said: dict[str, Any] = json.loads(line)
    return said


@contextmanager
def _database(url: str) -> Iterator[str]:
    """Make an empty database with pgvector on the server, gone afterwards; give its address."""
    name = sql.Identifier(f"bench_{uuid.uuid4().hex[:8]}")
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(name))
        parts = conn.info
        own = f"postgresql://{parts.user}@/{name.as_string().strip(chr(34))}?host={parts.host}"
    try:
        with psycopg.connect(own, autocommit=True) as conn:
            conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        yield own
    finally:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
