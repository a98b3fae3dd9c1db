"""A worker's lines, failures and ends, with scripts that do what workers do."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ragkit.errors import ModelError
from ragkit.system.worker_process import find_interpreter, run_worker

HERE = Path(sys.executable)
# The worker starts another process that would keep its output open, and names both.
TWO = (
    "import os, subprocess, sys, time\n"
    "other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(os.getpid(), other.pid, flush=True)\n"
)


def run(tmp_path: Path, code: str, **options: object) -> tuple[str, list[str]]:
    script, lines = tmp_path / "script.py", list[str]()
    script.write_text(code)
    reason = run_worker(HERE, script, tmp_path / "job.json", lines.append, **options)  # type: ignore[arg-type]
    return reason, lines


def wait_for_end(*processes: int) -> None:
    """Wait until none of the processes runs; fail after 30 s."""
    for process in processes:
        try:
            ended = os.pidfd_open(process)
        except ProcessLookupError:
            continue
        try:
            assert select.select([ended], [], [], 30)[0], f"{process} still runs"
        finally:
            os.close(ended)


def test_lines_come_as_they_are_written(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "print('stage: reading', sys.argv[1])\n"
        "print('1/2\\r2/2', file=sys.stderr)\n"
        "print(os.environ['MORE'], os.environ['TOKENIZERS_PARALLELISM'])"
    )
    started: list[int] = []
    reason, lines = run(tmp_path, code, environment={"MORE": "1"}, on_start=started.append)
    assert reason == ""
    assert sorted(lines) == ["1 false", "1/2", "2/2", f"stage: reading {tmp_path / 'job.json'}"]
    assert len(started) == 1


def test_a_launcher_starts_the_script(tmp_path: Path) -> None:
    reason, lines = run(tmp_path, "import sys; print(sys.dont_write_bytecode)", launcher=["-B"])
    assert (reason, lines) == ("", ["True"])


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ValueError('no  such\\n\\nlayer')", "ValueError: no such"),
        ("import sys; sys.exit('stopped: loss is not finite')", "stopped: loss is not finite"),
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ],
)
def test_a_failure_has_a_reason(tmp_path: Path, code: str, reason: str) -> None:
    assert run(tmp_path, code)[0] == reason


def test_a_worker_that_ends_ends_what_it_started(tmp_path: Path) -> None:
    reason, lines = run(tmp_path, TWO)
    assert reason == ""
    wait_for_end(*map(int, lines[0].split()))


def test_a_failure_of_the_caller_ends_the_group(tmp_path: Path) -> None:
    script, lines = tmp_path / "script.py", list[str]()
    script.write_text(f"{TWO}time.sleep(600)")

    def fail(line: str) -> None:
        lines.append(line)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_worker(HERE, script, tmp_path / "job.json", fail)
    wait_for_end(*map(int, lines[0].split()))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_group_ends_with_this_process(tmp_path: Path, number: signal.Signals) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"{TWO}time.sleep(600)")
    code = (
        "import sys; from pathlib import Path\n"
        "from ragkit.system.worker_process import run_worker\n"
        "run_worker(Path(sys.executable), Path(sys.argv[1]), Path('job'), "
        "lambda line: print(line, flush=True))"
    )
    command = [sys.executable, "-c", code, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        processes = [int(word) for word in parent.stdout.readline().split()]
        parent.send_signal(number)
        parent.wait(30)
    wait_for_end(*processes)


def test_a_long_line_comes_in_pieces(tmp_path: Path) -> None:
    reason, lines = run(tmp_path, "print('x' * 200_000)")
    assert reason == ""
    assert [len(line) for line in lines] == [65536, 65536, 65536, 3392]


def test_an_interpreter_without_the_packages_is_refused(tmp_path: Path) -> None:
    options = {"option": "RAGKIT_TUNE_PYTHON", "install": "pip install 'ragkit[tune]'"}
    assert find_interpreter(None, ["json", "torch"], **options) == HERE
    assert find_interpreter(HERE, ["json", "torch"], **options) == HERE
    with pytest.raises(ModelError) as raised:
        find_interpreter(None, ["json", "no_such"], **options)
    assert str(raised.value) == (
        "no_such cannot be imported: pip install 'ragkit[tune]', or make an environment of its own"
        " (pip install json no_such) and name its Python with RAGKIT_TUNE_PYTHON"
    )
    with pytest.raises(ModelError, match=r"cannot import no_such: pip install no_such in that"):
        find_interpreter(HERE, ["no_such"], **options)
    with pytest.raises(ModelError, match=r"nowhere cannot be run: name the Python"):
        find_interpreter(tmp_path / "nowhere", ["json"], **options)
