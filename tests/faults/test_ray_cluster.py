"""A Ray cluster of two nodes on the loopback, one of which is killed in the middle of a run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ragkit.store.connection.connect import connect
from tests.faults.commands import contents, finish, least_cosine, start, write_file
from tests.faults.test_kill import clean

pytestmark = pytest.mark.faults

FILES = 80
PARAGRAPHS = 3
STORED = 16  # documents, before the node is killed: the first block
PATIENCE_S = 600  # Ray starts a dozen processes, which takes minutes on a machine that is busy
MARK = "ragkit-secret-1f0e"  # in the database's address, in a password's place
TOKEN = "0123456789abcdef" * 4
NO_RAY = "the extra ray is not installed: pip install 'ragkit[ray]'"


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start a head and a second node, of two CPUs each; end them and all that is theirs."""
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": TOKEN,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_worker_niceness": "0",
    }.items():
        monkeypatch.setenv(name, value)
    made = pytest.importorskip("ray.cluster_utils", reason=NO_RAY).Cluster()
    began = time.monotonic()
    here = {
        "num_cpus": 2,
        "node_ip_address": "127.0.0.1",
        "include_dashboard": False,
        "object_store_memory": 128 << 20,
    }
    try:
        made.add_node(**here)
        made.add_node(**here)
        print(f"two nodes after {time.monotonic() - began:.0f} s")
        yield made
    finally:
        made.shutdown()


def test_a_node_that_is_killed_costs_nothing(
    fresh_database: str, tmp_path: Path, nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(FILES):
        write_file(folder / f"{number:03}.md", 1, paragraphs=PARAGRAPHS)
    second = next(iter(nodes.worker_nodes))
    raylet = second.all_processes["raylet"][0].process.pid
    run = start(
        f"{fresh_database}&application_name={MARK}",
        *("ingest", str(folder), "--json", "--engine", "ray"),
    )
    end = time.monotonic() + PATIENCE_S
    while stored(fresh_database) < STORED or "Embed" not in at_work(raylet):
        assert run.is_running(wait_s=0.1), run.end()
        assert time.monotonic() < end, f"{at_work(raylet)} on the second node"
    working = at_work(raylet)
    before = stored(fresh_database)
    kill(raylet)
    print(f"killed a node with {working} after {before} of {FILES} documents")
    assert before < FILES
    run.is_running(wait_s=PATIENCE_S)
    report = finish(run)
    print(f"{report['seconds']:.0f} s in all")
    assert report["documents"] == {
        "added": FILES,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "copies": 0,
        "lost": 0,
        "failed": 0,
    }
    with connect(fresh_database) as conn:
        jobs = conn.execute("SELECT state, attempts, count(*) FROM job GROUP BY 1, 2").fetchall()
        once = conn.execute("SELECT max(version), count(*) FROM document").fetchone()
        chunks = conn.execute("SELECT count(*) FROM chunk").fetchone()
        bare = conn.execute(
            "SELECT count(*) FROM chunk c LEFT JOIN vectors_1 v ON v.chunk_id = c.id"
            " WHERE v.chunk_id IS NULL"
        ).fetchone()
    assert jobs == [("done", 1, FILES)]
    assert once == (1, FILES)
    assert chunks == (report["embedded"],) == (report["chunks"],)
    assert bare == (0,)
    with clean(fresh_database) as other:
        finish(start(other, "ingest", str(folder), "--json"))
        assert contents(fresh_database) == contents(other)
        assert least_cosine(fresh_database, other) > 0.999
    logs = Path(nodes.head_node.get_session_dir_path())
    assert [str(path) for path in logs.rglob("*") if tells(path)] == []


TELLING = """
import io, os, time
from contextlib import redirect_stderr

from ragkit_ingest.executor.ray.cluster import joined

told = io.StringIO()
with redirect_stderr(told), joined():
    import ray

    @ray.remote(max_retries=3, num_cpus=0)
    def first():
        os._exit(1)

    @ray.remote(max_retries=1, num_cpus=0)
    def second():
        os._exit(1)

    for task in (first, second):
        try:
            ray.get(task.remote())
        except ray.exceptions.WorkerCrashedError:
            pass
    while "Task second failed" not in told.getvalue():
        time.sleep(0.1)
    assert "Task first failed. There are 1" not in told.getvalue()
assert "Task first failed. There are 1" in told.getvalue(), told.getvalue()
print("the result")
"""


@pytest.mark.skipif(find_spec("ray") is None, reason=NO_RAY)  # importing it here fixes its options
def test_what_ray_tells_at_its_end_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray holds back what it has told before, for some seconds or until it ends."""
    monkeypatch.setenv("RAY_DEDUP_LOGS_AGG_WINDOW_S", str(PATIENCE_S))
    command = [sys.executable, "-c", TELLING]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (run.stdout, run.returncode) == ("the result\n", 0), run.stderr


def stored(database: str) -> int:
    with connect(database) as conn:
        if conn.execute("SELECT to_regclass('document')").fetchone() == (None,):
            return 0
        row = conn.execute("SELECT count(*) FROM document").fetchone()
        assert row is not None
        return int(row[0])


def at_work(raylet: int) -> set[str]:
    """Name the operators of which a node has a process."""
    operators = ("Parse", "Embed", "Write")
    told = [title(pid) for pid in children(raylet)]
    return {name for name in operators if any(f"({name})" in one for one in told)}


def kill(raylet: int) -> None:
    """End a node as a machine ends whose power fails: all its processes, at once."""
    for pid in (raylet, *children(raylet)):
        os.kill(pid, signal.SIGKILL)


def children(parent: int) -> list[int]:
    """List a process's children; Ray's workers are a raylet's."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue  # it has just ended
            if int(stat.rpartition(")")[2].split()[1]) == parent:
                found.append(int(folder.name))
    return found


def title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def tells(path: Path) -> bool:
    """Tell whether a file of Ray's has the mark in it."""
    return path.is_file() and MARK.encode() in path.read_bytes()
