"""The sides of the ingestion benchmarks: programs that keep their models loaded, asked in turn.

Each runs in the environment of its own library; `benchmarks/peers/side.py` is the other end. Each
task that needs one gets a fresh database of one server.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql

from benchmarks.environment import peer_python

HERE = Path(__file__).resolve().parent
PEERS = {"langchain": "LangChain", "llamaindex": "LlamaIndex", "haystack": "Haystack"}
TITLES = {"ragkit": "ragkit", **PEERS}
# No library is to look for anything, or tell anything, in the network.
OFFLINE = {
    **{"HF_HUBOFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
    **{"HAYSTACK_TELEMETRY_ENABLED": "False", "DO_NOT_TRACK": "true", "SCARF_NO_ANALYTICS": "true"},
}
_SHOWN_CHARS = 2000  # of what a side said before it ended

Result = dict[str, float]


class Side:
    """One library's program, running."""

    def __init__(self, name: str, log: Path) -> None:
        self.name = name
        self._log = log
        python = Path(sys.executable) if name == "ragkit" else peer_python(name)
        own = {k: v for k, v in os.environ.items() if not k.startswith(("RAGKIT_", "PYTHON"))}
        with log.open("w") as said:
            self._program = subprocess.Popen(
                [python, HERE / "peers" / f"{name}_side.py"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env={**own, **OFFLINE},
                text=True,
            )

    def ready(self) -> None:
        """Wait until the model is loaded."""
        self._answer()

    def ask(self, task: str, **what: str | int) -> Result:
        """Have a task done. Ends the benchmark, with what the side said, when it fails."""
        print(json.dumps({"task": task, **what}), file=self._pipe(self._program.stdin), flush=True)
        result = self._answer()
        shown = {key: round(value, 3) for key, value in result.items()}
        print(f"{self.name} {task}: {shown}", flush=True)
        return result

    def close(self) -> None:
        self._pipe(self._program.stdin).close()
        self._program.wait()

    def _answer(self) -> Result:
        line = self._pipe(self._program.stdout).readline()
        if not line:
            raise SystemExit(f"{self.name} ended:\n{self._log.read_text()[-_SHOWN_CHARS:]}")
        answer: Result = json.loads(line)
        return answer

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


@contextmanager
def sides(names: Sequence[str], logs: Path) -> Iterator[dict[str, Side]]:
    """Start sides, one after the other, and end them; what they say goes to files in `logs`."""
    with ExitStack() as stack:
        started: dict[str, Side] = {}
        for name in names:
            started[name] = Side(name, logs / f"{name}.log")
            stack.callback(started[name].close)
            started[name].ready()
        yield started


def fresh_database(url: str, *, commits_wait: bool = True) -> str:
    """Make an empty database with pgvector on a server, and return its address.

    Unless `commits_wait`, a commit there does not wait for the disk.
    """
    name = f"bench_{uuid.uuid4().hex[:8]}"
    identifier = sql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(identifier))
        if not commits_wait:
            statement = sql.SQL("ALTER DATABASE {} SET synchronous_commit = off")
            conn.execute(statement.format(identifier))
        fresh = f"postgresql://{conn.info.user}@/{name}?host={conn.info.host}"
    with psycopg.connect(fresh, autocommit=True) as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return fresh


def median(results: Sequence[Result], key: str = "seconds") -> float:
    return statistics.median(result[key] for result in results)


def ratios(runs: Mapping[str, Sequence[Result]], ours: str, theirs: Sequence[str]) -> list[float]:
    """Divide, round by round, the seconds of the fastest of them by ours."""
    return [
        min(runs[name][number]["seconds"] for name in theirs) / result["seconds"]
        for number, result in enumerate(runs[ours])
    ]


def asked() -> list[str]:
    """Return the names of the sides that BENCH_SIDES names, all of them where it is not set."""
    wanted = os.environ.get("BENCH_SIDES")
    return [name for name in TITLES if wanted is None or name in wanted.split(",")]


def rounds() -> int:
    """Return how often each side is asked: BENCH_ROUNDS, or three times."""
    return int(os.environ.get("BENCH_ROUNDS", "3"))
