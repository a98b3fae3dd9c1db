"""The pool of parser processes: what a crash, a hang or a bloated parser costs."""

import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit.system import priority
from ragkit.types import Block, ParsedText
from ragkit_ingest.parse import ocr
from ragkit_ingest.parser import pool as sandbox
from ragkit_ingest.parser.pool import ParseLimits, ParserPool
from tests.ingest.poison import FILES

FAULTY = (sys.executable, "-P", str(Path(__file__).with_name("faulty_parser.py")))
DEADLINE_S = 60
WALL_S = 2  # in which a process also has to start, on a busy machine
REMEDY = "save the file anew with another program"


@pytest.fixture
def faulty() -> Iterator[ParserPool]:
    with ParserPool(1, ParseLimits(memory_mb=512, cpu_s=1, wall_s=60), command=FAULTY) as pool:
        yield pool


def reason(future: Future[ParsedText]) -> str:
    error = future.exception(timeout=DEADLINE_S)
    assert isinstance(error, IngestError)
    assert error.stage == "parse"
    return error.reason


def process_id(pool: ParserPool) -> int:
    return int(pool.submit(b"", ".txt").result(timeout=DEADLINE_S).text.split()[0])


def until_one_runs(pool: ParserPool) -> int:
    """Wait until exactly one of the pool's processes runs, and return its id."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        running = [process._child.pid for process in pool._running]
        if len(running) == 1:
            return running[0]
        time.sleep(0.01)
    raise AssertionError("no process has begun")


def is_alive(pid: int) -> bool:
    """Say whether a process is there and not merely waiting to be reaped."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def in_group(process: str, group: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[2] == str(group)


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
        (".segv", f"parser crashed (signal 11): {REMEDY}"),
        (".abort", f"parser crashed (signal 6): {REMEDY}"),
        (".spin", "parser used more than 1 s of CPU time (RAGKIT_PARSE_CPU_S)"),
        (".eat", "parser ran out of memory (RAGKIT_PARSE_MEMORY_MB, 512 MB)"),
        (".exit", f"parser ended without an answer (exit code 3): {REMEDY}"),
        (".liar", f"parser sent a malformed answer: {REMEDY}"),
        (".garbage", f"parser sent a malformed answer: {REMEDY}"),
        (".closes", f"parser closed its end of the pipe without an answer: {REMEDY}"),
    ],
)
def test_a_failing_parser_costs_one_file_and_one_process(
    faulty: ParserPool, suffix: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if suffix == ".closes":
        monkeypatch.setattr(sandbox, "_ENDING_S", 0.1)  # to wait for an end that does not come
    before = process_id(faulty)
    assert reason(faulty.submit(b"", suffix)) == expected
    assert process_id(faulty) != before
    assert not is_alive(before)


def test_a_hanging_parser_is_killed() -> None:
    with ParserPool(2, ParseLimits(wall_s=WALL_S), command=FAULTY) as pool:
        hanging = [pool.submit(b"", suffix) for suffix in (".hang", ".dead")]
        for future in hanging:
            assert reason(future) == "parser took longer than 2 s (RAGKIT_PARSE_WALL_S)"
        assert process_id(pool) > 0


def test_a_file_larger_than_the_process_may_be_is_refused(faulty: ParserPool) -> None:
    big = bytes(500 << 20)
    assert (
        reason(faulty.submit(big, ".txt"))
        == "parser ran out of memory (RAGKIT_PARSE_MEMORY_MB, 512 MB)"
    )


def test_a_file_over_the_limit_starts_no_process() -> None:
    with ParserPool(1, ParseLimits(file_mb=1), command=("false",)) as pool:
        refused = pool.submit(bytes((1 << 20) + 1), ".txt")
        assert reason(refused) == "larger than the limit of 1 MB (RAGKIT_MAX_FILE_MB)"


def test_what_a_library_prints_is_not_the_answer(faulty: ParserPool) -> None:
    parsed = faulty.submit("标题".encode(), ".print").result(timeout=DEADLINE_S)
    assert parsed.title == "标题"


def test_limits_reach_the_process(faulty: ParserPool) -> None:
    pid, group, budget = faulty.submit(b"", ".txt").result(timeout=DEADLINE_S).text.split()
    assert (group, budget) == (pid, str(256 << 20))  # its own group: Ctrl-C is not for it
    assert faulty.submit(b"", ".core").result(timeout=DEADLINE_S).text == "(0, 0)"


@pytest.mark.skipif(
    not ocr.is_installed(), reason="the extra ocr is not installed: pip install 'ragkit[ocr]'"
)
def test_a_library_tells_its_maker_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime, when it reports, first leaves a device's and a session's number in files."""
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("CI", "ORT_DISABLE_TELEMETRY"):  # either keeps it silent
        monkeypatch.delenv(name, raising=False)
    data = FILES["pages.tiff"]()
    assert isinstance(data, bytes)
    with ParserPool(1, ParseLimits()) as pool:
        assert reason(pool.submit(data, ".tiff")) == "a picture in which OCR found no text"
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="no other system lists a process's children")
def test_the_processes_of_a_process_that_gives_way_do_so_too() -> None:
    """Each leads a session, which Linux divides the processors by."""
    code = (
        "import os\n"
        "from pathlib import Path\n"
        "from ragkit.system import priority\n"
        "from ragkit_ingest.parser.pool import ParseLimits, ParserPool\n"
        "priority.give_way()\n"
        "with ParserPool(1, ParseLimits()) as pool:\n"
        "    pool.submit(b'text', '.txt').result()\n"
        "    threads = Path('/proc/self/task').iterdir()\n"
        "    (child,) = ' '.join((t / 'children').read_text() for t in threads).split()\n"
        "    session = Path('/proc', child, 'autogroup')\n"
        "    print(os.getpriority(os.PRIO_PROCESS, int(child)))\n"
        "    print(session.read_text().split()[-1] if session.exists() else priority.NICENESS)\n"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    lowered = max(priority.NICENESS, os.getpriority(os.PRIO_PROCESS, 0))
    assert printed == f"{lowered}\n{priority.NICENESS}\n"


def test_a_process_is_replaced_after_so_many_files(
    faulty: ParserPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragkit_ingest.parser.pool._FILES_PER_PROCESS", 4)
    pids = [process_id(faulty) for _ in range(5)]
    assert len(set(pids[:4])) == 1
    assert pids[4] != pids[0]


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells a process's memory")
def test_a_process_that_has_grown_is_replaced_and_no_other(faulty: ParserPool) -> None:
    before = [process_id(faulty) for _ in range(201)]
    assert len(set(before)) == 1
    faulty.submit(b"", ".grown").result(timeout=DEADLINE_S)
    after = [process_id(faulty) for _ in range(199)]
    assert set(after[:-1]) == {before[0]}
    assert after[-1] != before[0]


def test_at_rest_idle_processes_are_ended_and_started_anew() -> None:
    with ParserPool(2, ParseLimits(wall_s=2 * DEADLINE_S), command=FAULTY) as pool:
        pid = process_id(pool)
        pool.rest()
        assert not is_alive(pid)
        hanging = pool.submit(b"", ".hang")
        busy = until_one_runs(pool)
        pool.rest()
        assert is_alive(busy)
        assert process_id(pool) not in {pid, busy}
        assert not hanging.done()


def test_closing_waits_for_no_parser_and_leaves_nothing() -> None:
    with ParserPool(2, ParseLimits(wall_s=2 * DEADLINE_S), command=FAULTY) as pool:
        pid = process_id(pool)
        hanging = [pool.submit(b"", ".hang") for _ in range(2)]
        waiting = [pool.submit(b"", ".txt") for _ in range(20)]
        started = time.perf_counter()
    assert time.perf_counter() - started < DEADLINE_S  # what hangs may take twice as long
    assert not is_alive(pid)
    assert all(future.done() for future in [*hanging, *waiting])
    for future in hanging:
        assert future.cancelled() or reason(future) == "interrupted: the parsers were closed"


def test_processes_die_with_a_parent_that_is_killed() -> None:
    program = textwrap.dedent(
        f"""
        from ragkit_ingest.parser.pool import ParseLimits, ParserPool
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


def test_what_a_parser_started_ends_with_it() -> None:
    with ParserPool(1, ParseLimits(wall_s=WALL_S), command=FAULTY) as pool:
        group = process_id(pool)
        assert (
            reason(pool.submit(b"", ".fork")) == "parser took longer than 2 s (RAGKIT_PARSE_WALL_S)"
        )
        assert process_id(pool) > 0
    started = [entry for entry in os.listdir("/proc") if entry.isdigit() and in_group(entry, group)]
    assert not any(is_alive(int(one)) for one in started)


HONEST = {"title": "", "pages": [], "metadata": {}, "notes": {}}
HEAD = struct.Struct("<QQ")


def forged(said: Mapping[str, object], *parts: bytes) -> bytes:
    sizes = [len(part) for part in parts]
    body = json.dumps({"parts": sizes, **HONEST, **said}).encode()
    return HEAD.pack(len(body), sum(map(len, parts))) + body + b"".join(parts)


def block(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


@pytest.mark.parametrize(
    "answer",
    [
        forged({}, b"\xed\xa0\x80", b""),
        forged({}, b"two\r\nlines", b""),
        forged({"title": None}, b"text", b""),
        forged({}, b"text"),
        forged({}, b"text", block(0, 4, 1)),
        forged({}, b"text", b"1234567"),
        forged({}, b"text", block(0, 5, 1, 0)),
        forged({}, b"text", block(0, 4, 9, 0)),
        forged({}, b"text", block(0, 4, -1, 0)),
        forged({}, b"text", block(2, 4, 1, 0, 1, 2, 1, 0)),
        forged({"parts": [5, -1]}, b"text", b""),
        forged({"parts": [4, 1 << 40]}, b"text", b""),
        forged({"parts": "45"}, b"text", b""),
        forged({"pages": [[9, 1, ""]]}, b"text", b""),
        forged({"pages": [[1, 1, ""], [0, 2, ""]]}, b"text", b""),
        forged({"notes": {"a": "many"}}, b"text", b""),
        HEAD.pack(17 << 20, 0),
        HEAD.pack(2, 1 << 40) + b"{}",
        HEAD.pack(2, 0) + b"[]",
        HEAD.pack(2, 0) + b"{}",
        HEAD.pack(100_000, 0) + b"[" * 100_000,
    ],
)
def test_an_answer_that_makes_no_sense_is_not_believed(tmp_path: Path, answer: bytes) -> None:
    (tmp_path / "answer").write_bytes(answer)
    script = f"cat {tmp_path}/answer; cat > /dev/null"
    with ParserPool(1, ParseLimits(), command=("sh", "-c", script)) as pool:
        assert reason(pool.submit(b"", ".txt")) == f"parser sent a malformed answer: {REMEDY}"


def test_a_forged_answer_that_makes_sense_is_taken(tmp_path: Path) -> None:
    (tmp_path / "answer").write_bytes(forged({}, "文字".encode(), block(0, 2, 1, 0)))
    script = f"cat {tmp_path}/answer; cat > /dev/null"
    with ParserPool(1, ParseLimits(), command=("sh", "-c", script)) as pool:
        parsed = pool.submit(b"", ".txt").result(timeout=DEADLINE_S)
    assert parsed == ParsedText("文字", (Block(0, 2, "paragraph"),))


def test_a_text_longer_than_it_may_be() -> None:
    with ParserPool(1, ParseLimits(text_chars=10_000)) as pool:
        assert pool.submit(b"x" * 10_000, ".txt").result(timeout=DEADLINE_S).text == "x" * 10_000
        said = (
            "its text has more than 0.01 million characters (RAGKIT_PARSE_TEXT_MCHARS): divide the"
            " file, or take a table's rows one by one with --text"
        )
        assert reason(pool.submit(b"x" * 10_001, ".txt")) == said
        assert reason(pool.submit(b"x" * 40_004, ".md")) == said
        assert reason(pool.submit(b"<p>" + b"x" * 10_001, ".html")) == said


def test_a_text_of_more_paragraphs_than_it_may_have() -> None:
    with ParserPool(1) as pool:
        data = b"a\n\n" * 500_001
        assert reason(pool.submit(data, ".txt")).startswith("it has more than 500,000 paragraphs: ")
