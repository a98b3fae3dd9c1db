"""What a database of ragkit's takes: bytes of tables on disk, and of memory in its processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

VECTORS = ("vectors_1",)
WORDS = ("lexical_posting", "lexical_segment")
TEXT = ("document", "chunk")


def disk(conn: Any, tables: tuple[str, ...]) -> int:
    """Add up tables with their indexes, as pg_total_relation_size counts them."""
    return sum(
        int(conn.execute("SELECT pg_total_relation_size(%s)", (table,)).fetchone()[0])
        for table in tables
    )


def server_memory(home: Path) -> int:
    """Add up what no file backs of the embedded server's processes: shared buffers in use once.

    Of memory shared by several, each is charged its part: see Pss in proc_pid_smaps_rollup(5).
    """
    first = postmaster(home)
    return sum(_own(pid) for pid in (first, *children(first)))


@contextmanager
def watched(every_s: float, look: Callable[[], None]) -> Iterator[None]:
    """Call `look` every so many seconds from another thread, until the end of the block."""
    ended = Event()

    def watch() -> None:
        while not ended.wait(every_s):
            look()

    thread = Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def postmaster(home: Path) -> int:
    """Return the id of the embedded server's first process."""
    return int((home / "postgres/postmaster.pid").read_text().split()[0])


def own_memory() -> int:
    """Count the bytes of this process that no file backs."""
    return resident("RssAnon")


def resident(kind: str) -> int:
    """Count the bytes of this process in memory, of a kind: see proc_pid_status(5)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"this system does not tell {kind}")


def _own(pid: int) -> int:
    return _charged(pid, ("Pss_Anon:", "Pss_Shmem:"))


def _charged(pid: int, kinds: tuple[str, ...]) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0
    parts = [line.split() for line in lines if line.startswith(kinds)]
    return sum(int(part[1]) * 1024 for part in parts)


def whole(pid: int) -> int:
    """Count the bytes of a process in memory, what files back included; 0 once it has ended.

    Of memory shared by several, each is charged its part, as by `server_memory`.
    """
    return _charged(pid, ("Pss:",))


def children(pid: int) -> Iterator[int]:
    """List the processes that a process has started and that still run."""
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            yield from map(int, (task / "children").read_text().split())
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return
