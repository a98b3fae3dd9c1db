"""`ragkit model serve` with the real vLLM, as a child process of a test."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.places import ROOT
from tests.serve.vllm.started import UNBOUND

_READY_S = 600.0


def vllm_python() -> Path:
    """Find the interpreter that has vLLM; the test is skipped where there is none."""
    variable = "RAGKIT_TEST_VLLM_PYTHON"
    file = Path(os.environ.get(variable, ROOT / ".venvs/vllm/bin/python"))
    if not file.exists():
        pytest.skip(f"there is no {file}: make venvs, or set {variable}")
    return file


class Served:
    """A running `ragkit model serve`: its process, its log, and a client with its key."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path, log: Path) -> None:
        self.process = process
        self.output = output
        self.log = log

    def ready(self) -> list[dict[str, Any]]:
        """What it printed each time that it became ready."""
        decoder, text, found = json.JSONDecoder(), self.output.read_text(), []
        while text.strip():
            try:
                value, end = decoder.raw_decode(text)
            except json.JSONDecodeError:  # half written
                break
            found.append(value)
            text = text[end:].lstrip()
        return found

    def client(self, *, key: str | None = None) -> httpx.Client:
        """A client of the running server, with its key or another; "" for none."""
        told = self.ready()[-1]
        key = told["api_key"] if key is None else key
        socket = told["unix_socket"]
        return httpx.Client(
            base_url="http://localhost" if socket else told["url"].removesuffix("/v1"),
            transport=httpx.HTTPTransport(uds=socket) if socket else None,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=60,
            trust_env=False,
        )

    def wait_ready(self, times: int = 1) -> None:
        self.wait(lambda: len(self.ready()) >= times, _READY_S)

    def wait(self, true: Any, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not true():
            ended = self.process.poll()
            assert ended is None, f"it ended with {ended}"
            assert time.monotonic() < deadline, "not in time"
            time.sleep(0.1)

    def descendants(self) -> dict[int, str]:
        """Map the process id of each of its descendants to that one's command line."""
        parents: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                fields = _read(entry / "stat").rpartition(")")[2].split()
                if fields and fields[0] != "Z":
                    parents.setdefault(int(fields[1]), []).append(int(entry.name))
        found, waiting = {}, [self.process.pid]
        while waiting:
            for pid in parents.get(waiting.pop(), []):
                found[pid] = _read(Path(f"/proc/{pid}/cmdline")).replace("\0", " ")
                waiting.append(pid)
        return found

    def engine(self) -> int:
        """The process id of vLLM's engine."""
        (pid,) = [pid for pid, line in self.descendants().items() if "EngineCore" in line]
        return pid


@contextmanager
def served(
    model: Path,
    folder: Path,
    *options: object,
) -> Iterator[Served]:
    """Run the command until the block ends, whatever happens in it; wait until it is ready."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("RAGKIT_")}
    command = [sys.executable, "-m", "ragkit", "model", "serve", str(model), "--json"]
    command += ["--cpu-kv-cache-gib", "1", *map(str, options)]
    output, log = folder / "out", folder / "log"
    with output.open("wb") as out, log.open("wb") as err:
        process = subprocess.Popen(
            command,
            env={**plain, **UNBOUND, "RAGKIT_VLLM_PYTHON": str(vllm_python())},
            cwd=ROOT,
            stdout=out,
            stderr=err,
        )
    try:
        running = Served(process, output, log)
        running.wait_ready()
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()  # the kernel ends the server then
            process.wait()
        print(
            log.read_text(errors="replace")[-8000:], file=sys.stderr
        )  # pytest shows it on failure


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:  # it has ended meanwhile
        return ""
