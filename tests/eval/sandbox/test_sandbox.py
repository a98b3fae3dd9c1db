"""The sandbox: what a program may not do, tried by programs that do it.

Each program here would pass its test if it were not held back, so that a hole is a failure.
"""

import json
import os
import platform
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit_eval.sandbox import Limits, Outcome, Sandbox
from ragkit_eval.sandbox import run as module
from ragkit_eval.sandbox.syscall_filter import filter_for

LIMITS = Limits(cpu_s=1, wall_s=60.0)
PYTHON = "/usr/bin/python3"  # root's own may be where nobody else may go
TESTS = "def check(f):\n    assert f() == 1\n"


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    try:
        return Sandbox.open(limits=LIMITS)
    except UsageError as error:
        pytest.skip(str(error))


def _run(sandbox: Sandbox, *lines: str, before: str = "") -> Outcome:
    """Run a function of these lines, which returns 1 if nothing stops it."""
    body = "".join(f"    {line}\n" for line in (*lines, "return 1"))
    return sandbox.run(f"{before}\ndef f():\n{body}", tests=TESTS, entry_point="f")


def test_a_right_function_passes(sandbox: Sandbox) -> None:
    assert _run(sandbox) == Outcome(True)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("def f(): return 2", "AssertionError"),
        ("def f(): return 1/0", "ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError: "),
        ("def g(): return 1", "KeyError: 'f'"),
        ("import numpy\ndef f(): return 1", "ModuleNotFoundError: No module named 'numpy'"),
        ("import ragkit\ndef f(): return 1", "ModuleNotFoundError: No module named 'ragkit'"),
        ("def f(): raise SystemExit(0)", "SystemExit: 0"),
        ("import sys\nsys.exit()", "SystemExit"),
        ("import os\nos._exit(0)", "ended before its tests did"),
        ("def f():\n    import os\n    os._exit(0)", "ended before its tests did"),
        ("import os\nos._exit(96)", "no reason given"),
        ("def f():\n    import os\n    os.abort()", "ended by SIGABRT"),
        ("def f(): return f()", "RecursionError: maximum recursion depth exceeded"),
        ("def f(): return 1\ndef check(f): pass\n" * 2 + "f = lambda: 3", "AssertionError"),
        ("x\x00y", "SyntaxError: source code string cannot contain null bytes"),
    ],
)
def test_what_is_wrong_fails_with_its_reason(sandbox: Sandbox, program: str, reason: str) -> None:
    outcome = sandbox.run(program, tests=TESTS, entry_point="f")
    assert not outcome.passed
    assert outcome.reason.startswith(reason)
    assert "\n" not in outcome.reason


def test_an_endless_loop_meets_the_limit_of_cpu_time(sandbox: Sandbox) -> None:
    outcome = _run(sandbox, "while True: pass")
    assert outcome == Outcome(False, "killed: the limit of CPU time or of memory")


def test_a_program_that_sleeps_meets_the_deadline() -> None:
    sandbox = Sandbox(Limits(wall_s=0.3), weak=True)
    begun = time.monotonic()
    outcome = _run(sandbox, "import time", "time.sleep(3600)")
    assert outcome == Outcome(False, "not done after 0.3 s")
    assert time.monotonic() - begun >= 0.3


def test_one_that_closes_its_output_and_goes_on_meets_the_deadline() -> None:
    lines = "import os, time", "os.close(1)", "os.close(2)", "time.sleep(60)"
    outcome = _run(Sandbox(Limits(wall_s=0.5), weak=True), *lines)
    assert outcome == Outcome(False, "not done after 0.5 s")


def test_a_fork_bomb(sandbox: Sandbox) -> None:
    bomb = (
        "import os, time",
        "while True:",
        "    try: os.fork()",
        "    except OSError: time.sleep(0.01)",
    )
    assert _run(Sandbox(Limits(wall_s=1.0)), *bomb) == Outcome(False, "not done after 1 s")
    assert _run(sandbox) == Outcome(True)  # nothing of it is left that would be in the way


def test_what_is_forked_ends_with_the_program(sandbox: Sandbox) -> None:
    mark = f"left{os.getpid()}"
    lines = (
        "import os, ctypes, time",
        "if os.fork() == 0:",
        "    os.setsid()",
        "    os.close(1); os.close(2)",
        f"    ctypes.CDLL(None).prctl(15, b'{mark}', 0, 0, 0)",
        "    time.sleep(60)",
        "    os._exit(0)",
        "time.sleep(0.1)",
    )
    assert _run(sandbox, *lines) == Outcome(True)
    assert mark not in _names_of_processes()


def _names_of_processes() -> list[str]:
    names = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):  # ended meanwhile
            names.append(path.read_text().strip())
    return names


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["x = bytearray(1 << 30)"], "MemoryError"),
        (["open('/etc/passwd').read()"], "FileNotFoundError: [Errno 2] No such file"),
        (["open('/proc/self/environ').read()"], "FileNotFoundError: [Errno 2] No such file"),
        ([f"open({__file__!r}).read()"], "FileNotFoundError: [Errno 2] No such file"),
        (["open('/outside', 'w')"], "OSError: [Errno 30] Read-only file system"),
        (["import os; open(os.__file__, 'a')"], "PermissionError|OSError: [Errno 30]"),
        (["import os; os.mkdir(os.__file__ + 'x')"], "PermissionError|OSError: [Errno 30]"),
        (["open('big', 'wb').write(bytes(40_000_000))"], "OSError: [Errno 27] File too large"),
        (["import subprocess; subprocess.run(['/bin/sh'])"], "OSError: [Errno 38]"),
        (["import os; os.kill(PID, 0)"], "ProcessLookupError: [Errno 3] No such process"),
        (["x = [open('/tmp/x', 'w') for _ in range(99)]"], "OSError: [Errno 24] Too many open"),
        (["print('x' * 100_000)", "import sys; sys.stdout.flush()"], "more than 64 KB of output"),
        (["import os; os.setuid(0)"], "PermissionError|OSError"),
        (
            ["import socket; socket.create_connection(('127.0.0.1', PORT), 1)"],
            "OSError: [Errno 38] Function not implemented",
        ),
        (
            [
                "import ctypes; l = ctypes.CDLL(None, use_errno=True)",
                "assert l.unshare(1 << 28) == 0",
            ],
            "AssertionError",
        ),
        (
            [
                "import ctypes; l = ctypes.CDLL(None)",
                "assert l.mount(b'x', b'/tmp', b'tmpfs', 0, 0) == 0",
            ],
            "AssertionError",
        ),
    ],
)
def test_what_a_program_may_not_do(
    sandbox: Sandbox, lines: list[str], reason: str, listening: int
) -> None:
    known = {"PORT": str(listening), "PID": str(os.getpid())}
    outcome = _run(sandbox, *(re.sub("PORT|PID", lambda m: known[m[0]], line) for line in lines))
    assert not outcome.passed
    assert outcome.reason.startswith(tuple(reason.split("|")))


@pytest.fixture(scope="module")
def listening() -> Iterator[int]:
    """The port of a server on this machine, which a program could reach if it had the network."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_program_cannot_kill_its_parent(sandbox: Sandbox) -> None:
    # Process 1 of its own namespace, which is deaf to those inside it; elsewhere do no harm.
    lines = "import os", "assert os.getppid() == 1 and os.getpid() < 5", "os.kill(1, 9)"
    assert _run(sandbox, *lines) == Outcome(True)


def test_a_program_sees_an_empty_folder_and_nobody_else(sandbox: Sandbox) -> None:
    lines = (
        "import os",
        "assert os.listdir('.') == [], os.listdir('.')",
        "assert os.getcwd() == '/tmp', os.getcwd()",
        "assert os.getuid() > 0, os.getuid()",
        "assert os.getpid() < 5, os.getpid()",
        "assert set(os.environ) <= {'LANG', 'LC_CTYPE'}, os.environ",
        "assert not {'etc', 'home', 'proc', 'dev', 'work'} & set(os.listdir('/'))",
        "open('mine', 'w').write('x')",
        "assert open('mine').read() == 'x'",
    )
    assert _run(sandbox, *lines) == Outcome(True)
    assert _run(sandbox, *lines) == Outcome(True)  # and nothing of the one before


def test_the_library_of_python_is_there(sandbox: Sandbox) -> None:
    names = "math, re, hashlib, collections, itertools, typing, random, heapq, json, decimal"
    assert _run(sandbox, f"import {names}", "hashlib.md5(b'x')") == Outcome(True)


@pytest.mark.parametrize("printed", ["0" * 32, "passed", "\\n" + "f" * 32])
def test_a_guessed_nonce_is_not_believed(sandbox: Sandbox, printed: str) -> None:
    program = f"import os\nprint('{printed}', flush=True)\nos._exit(0)\n"
    outcome = sandbox.run(program, tests=TESTS, entry_point="f")
    assert outcome == Outcome(False, "ended before its tests did")


def test_many_at_once_do_not_disturb_each_other(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(4) as threads:
        wrong = "raise ValueError"
        jobs = [threads.submit(_run, sandbox, wrong if n % 3 else "pass") for n in range(12)]
    assert [job.result().passed for job in jobs] == [n % 3 == 0 for n in range(12)]


def test_nothing_is_left(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    descriptors = len(os.listdir("/proc/self/fd"))
    _run(sandbox)
    _run(sandbox, "print('x' * 100_000)")
    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert "ragkit-sandbox-" not in Path("/proc/self/mounts").read_text()


def test_a_machine_that_cannot_confine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_find_problem", lambda: "unshare: Operation not permitted")
    with pytest.raises(UsageError) as caught:
        Sandbox.open()
    assert str(caught.value) == (
        "this machine cannot confine programs (unshare: Operation not permitted): run as root or "
        "allow user namespaces, or accept less with --weak-sandbox (weak_sandbox=True)"
    )
    weak = Sandbox.open(weak=True, limits=LIMITS)
    assert _run(weak) == Outcome(True)
    assert _run(weak, "import os; assert os.listdir('.') == []") == Outcome(True)
    assert _run(weak, "x = bytearray(1 << 30)").reason == "MemoryError"


def test_a_sandbox_that_fails_to_start_is_an_error_and_no_wrong_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "inside.py"
    script.write_text(
        "import os\nos.write(1, b'mount /x: No space left on device\\n')\nos._exit(96)"
    )
    monkeypatch.setattr(module, "_INSIDE", script)
    with pytest.raises(ModelError, match="cannot run programs confined: mount /x: No space left"):
        _run(Sandbox(LIMITS))
    monkeypatch.setattr("sys.executable", "/no/such/python")
    with pytest.raises(ModelError, match="cannot start Python for a program: No such file"):
        _run(Sandbox(LIMITS))


@pytest.mark.parametrize(
    ("program", "code", "output"),
    [
        ("def f(): return 1", 0, "NONCE"),
        ("def f():\n    open('/etc/passwd')\n    return 1", 1, "FileNotFoundError: [Errno 2]"),
        ("def f():\n    import os\n    while True: os.fork()", 1, "BlockingIOError: [Errno 11]"),
        (
            "def f():\n    import os\n    os.kill(os.getppid(), 9)\n    return os.getppid()",
            0,
            "NONCE",
        ),
        ("import ctypes\nf = lambda: ctypes.CDLL(None).unshare(1 << 28) + 1", 1, "AssertionError"),
    ],
)
def test_an_ordinary_user_is_confined_too(program: str, code: int, output: str) -> None:
    if os.geteuid() != 0 or not Path(PYTHON).exists():
        pytest.skip(f"needs root, to become another user, and {PYTHON}")
    job = {"program": program, "tests": TESTS, "entry_point": "f", "weak": False, "user": 0}
    job["filter"] = filter_for(platform.machine()).hex()
    read_end, write_end = os.pipe()
    os.write(write_end, b"NONCE")
    os.close(write_end)
    # Not under pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        script = shutil.copy(Path(module.__file__).with_name("inside.py"), folder)
        os.mkdir(f"{folder}/empty")
        done = subprocess.run(
            [PYTHON, "-I", "-S", script, str(read_end)],
            input=json.dumps(job | asdict(LIMITS)).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=f"{folder}/empty",
            pass_fds=(read_end,),
            user=65534,
            group=65534,
            extra_groups=[],
        )
    os.close(read_end)
    text = done.stdout.decode()
    if done.returncode == 96:
        pytest.skip(f"this machine allows no user namespace: {text.strip()}")
    assert (done.returncode, output in text) == (code, True), text
