"""The pool of parser processes: what a crash, a hang or a bloated parser costs."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit.types import Block, ParsedText
from ragkit_ingest.sandbox import ParseLimits, ParserPool

FAULTY = (sys.executable, "-P", str(Path(__file__).with_name("faulty_parser.py")))
DEADLINE_S = 30


@pytest.fixture
def faulty() -> Iterator[ParserPool]:
    with ParserPool(1, ParseLimits(memory_mb=512, cpu_s=1, wall_s=5), command=FAULTY) as pool:
        yield pool


def reason(future: Future[ParsedText]) -> str:
    error = future.exception(timeout=DEADLINE_S)
    assert isinstance(error, IngestError)
    assert error.stage == "parse"
    return error.reason


def process_id(pool: ParserPool) -> int:
    return int(pool.submit(b"", ".txt").result(timeout=DEADLINE_S).text.split()[0])


def is_alive(pid: int) -> bool:
    """Say whether a process is there and not merely waiting to be reaped."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def test_files_are_parsed_in_other_processes() -> None:
    with ParserPool(2, ParseLimits()) as pool:
        first = pool.submit("# 年假\n\n每人十五天。\n".encode("gb18030"), ".md")
        second = pool.submit(b'{"a": 1}', ".JSON")
        parsed = first.result(timeout=DEADLINE_S)
        assert second.result(timeout=DEADLINE_S).text == "a: 1\n"
    assert parsed == ParsedText(
        "# 年假\n\n每人十五天。\n", (Block(0, 4, "heading", 1), Block(6, 12, "paragraph"))
    )


def test_an_ordinary_failure_keeps_the_process(faulty: ParserPool) -> None:
    before = process_id(faulty)
    assert reason(faulty.submit(b"", ".bug")) == "parser failed: KeyError: 'styles'"
    assert process_id(faulty) == before


@pytest.mark.parametrize(
    ("suffix", "expected"),
    [
        (".segv", "parser crashed (signal 11)"),
        (".abort", "parser crashed (signal 6)"),
        (".spin", "parser used more than 1 s of CPU time"),
        (".eat", "parser ran out of memory (limit 512 MB)"),
        (".exit", "parser ended without an answer (exit code 3)"),
        (".liar", "parser sent a malformed answer"),
    ],
)
def test_a_failing_parser_costs_one_file_and_one_process(
    faulty: ParserPool, suffix: str, expected: str
) -> None:
    before = process_id(faulty)
    assert reason(faulty.submit(b"", suffix)) == expected
    assert process_id(faulty) != before
    assert not is_alive(before)


@pytest.mark.parametrize("suffix", [".hang", ".dead"])
def test_a_hanging_parser_is_killed(suffix: str) -> None:
    with ParserPool(1, ParseLimits(wall_s=0.5), command=FAULTY) as pool:
        started = time.perf_counter()
        assert reason(pool.submit(b"", suffix)) == "parser took longer than 0.5 s"
        assert time.perf_counter() - started < 10
        assert process_id(pool) > 0


def test_a_file_larger_than_the_process_may_be_is_refused(faulty: ParserPool) -> None:
    big = bytes(500 << 20)
    assert reason(faulty.submit(big, ".txt")) == "parser ran out of memory (limit 512 MB)"


def test_a_file_over_the_limit_starts_no_process() -> None:
    with ParserPool(1, ParseLimits(file_mb=1), command=("false",)) as pool:
        refused = pool.submit(bytes((1 << 20) + 1), ".txt")
        assert reason(refused) == "larger than the limit of 1 MB"


def test_what_a_library_prints_is_not_the_answer(faulty: ParserPool) -> None:
    parsed = faulty.submit("标题".encode(), ".print").result(timeout=DEADLINE_S)
    assert parsed.title == "标题"


def test_limits_reach_the_process(faulty: ParserPool) -> None:
    pid, group, budget = faulty.submit(b"", ".txt").result(timeout=DEADLINE_S).text.split()
    assert (group, budget) == (pid, str(256 << 20))  # its own group: Ctrl-C is not for it
    assert faulty.submit(b"", ".core").result(timeout=DEADLINE_S).text == "(0, 0)"


def test_a_process_is_replaced_after_two_hundred_files(faulty: ParserPool) -> None:
    pids = [process_id(faulty) for _ in range(201)]
    assert len(set(pids[:200])) == 1
    assert pids[200] != pids[0]


def test_closing_is_quick_and_leaves_nothing() -> None:
    with ParserPool(2, ParseLimits(), command=FAULTY) as pool:
        pid = process_id(pool)
        hanging = [pool.submit(b"", ".hang") for _ in range(2)]
        waiting = [pool.submit(b"", ".txt") for _ in range(20)]
        started = time.perf_counter()
    assert time.perf_counter() - started < 5
    assert not is_alive(pid)
    assert all(future.done() for future in [*hanging, *waiting])
    for future in hanging:
        assert future.cancelled() or reason(future) == "interrupted: the parsers were closed"


def test_processes_die_with_a_parent_that_is_killed() -> None:
    program = textwrap.dedent(
        f"""
        from ragkit_ingest.sandbox import ParseLimits, ParserPool
        pool = ParserPool(1, ParseLimits(), command={FAULTY!r})
        print(pool.submit(b"", ".txt").result().text.split()[0], flush=True)
        pool.submit(b"", ".hang").result()
        """
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        deadline = time.monotonic() + DEADLINE_S
        while is_alive(pid) and time.monotonic() < deadline:
            os.sched_yield()
        assert not is_alive(pid)


def test_an_answer_with_a_lone_surrogate_is_not_believed(tmp_path: Path) -> None:
    script = tmp_path / "forger.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, struct
            body = b'{"text": "\\\\ud800", "title": "", "blocks": [], "pages": [], "metadata": {}}'
            os.write(1, struct.pack("<Q", len(body)) + body)
            while os.read(0, 4096):
                pass
            """
        )
    )
    with ParserPool(1, ParseLimits(), command=(sys.executable, str(script))) as pool:
        assert reason(pool.submit(b"", ".txt")) == "parser sent a malformed answer"
