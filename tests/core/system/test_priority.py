"""What gives way does so whole: its threads, its children, the session that it leads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragkit.system import priority

SESSIONS = Path("/proc/self/autogroup")
OWN = os.getpriority(os.PRIO_PROCESS, 0)  # which processes that are started here inherit
LOWERED = max(OWN, priority.NICENESS)
# Prints the priorities of itself, of a thread and of a child, and that of its session.
GIVES_WAY = """
import os, subprocess, sys, threading
from pathlib import Path
from ragkit.system import priority
before = priority.gives_way()
priority.give_way()
niceness = [os.getpriority(os.PRIO_PROCESS, 0)]
thread = threading.Thread(target=lambda: niceness.append(os.getpriority(os.PRIO_PROCESS, 0)))
thread.start()
thread.join()
code = "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"
niceness.append(int(subprocess.check_output([sys.executable, "-c", code])))
session = Path("/proc/self/autogroup")
niceness.append(session.read_text().split()[-1] if session.exists() else priority.NICENESS)
print(before, priority.gives_way(), *niceness)
"""


@pytest.fixture
def waiting() -> Iterator[int]:
    """The number of a process that waits, and leads a session."""
    pipe = subprocess.PIPE
    with subprocess.Popen(["cat"], stdin=pipe, stdout=pipe, start_new_session=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        # Linux names a process after its program a moment after Popen returns: what cat answers,
        # it answers under its name.
        child.stdin.write(b"ready\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"ready\n"
        yield child.pid


def session_priority(process: int) -> int:
    if not SESSIONS.exists():
        pytest.skip("this kernel divides the processors without regard to sessions")
    return int(Path(f"/proc/{process}/autogroup").read_text().rpartition(" ")[2])


def test_a_process_gives_way_with_its_threads_children_and_session() -> None:
    printed = subprocess.check_output(
        [sys.executable, "-c", GIVES_WAY], text=True, start_new_session=True
    )
    gave_way = OWN >= priority.NICENESS
    assert printed == f"{gave_way} True" + f" {LOWERED}" * 3 + f" {priority.NICENESS}\n"


def test_a_process_of_the_named_program_is_lowered_with_its_session(waiting: int) -> None:
    priority.lower(waiting, "cat")
    assert os.getpriority(os.PRIO_PROCESS, waiting) == LOWERED
    assert session_priority(waiting) == priority.NICENESS


def test_a_process_of_another_program_is_left_as_it_is(waiting: int) -> None:
    priority.lower(waiting, "postgres")
    assert os.getpriority(os.PRIO_PROCESS, waiting) == OWN


def test_a_process_that_gives_way_more_stays_so(waiting: int) -> None:
    os.setpriority(os.PRIO_PROCESS, waiting, 15)
    priority.lower(waiting, "cat")
    assert os.getpriority(os.PRIO_PROCESS, waiting) == 15


def test_a_process_that_has_ended_is_no_error() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    priority.lower(child.pid, "true")
