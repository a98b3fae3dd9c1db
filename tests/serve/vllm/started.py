"""A model server as a child process of a test: started, awaited by its own answers, ended."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

# vLLM's CPU build binds each server's threads to the first cores, where servers of tests that run
# side by side would meet.
UNBOUND = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
# Its worker is a third process that imports everything once more, for 8 s of processor time. Where
# the processes are not the subject it shares the engine's.
FEWER_PROCESSES = UNBOUND | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
_READY_S = 600.0


@dataclass(frozen=True)
class Started:
    """A server's address and key."""

    url: str
    key: str

    def open(self, path: str, body: Mapping[str, Any] | None = None, *, key: str = "") -> Any:
        """Send a GET, or a POST with a body; gives urllib's response, to be read as it comes."""
        headers = {"Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        return urlopen(Request(self.url + path, data, headers), timeout=120)

    def chat(self, question: str, **options: Any) -> dict[str, Any]:
        """Ask one question greedily and give the first choice."""
        body: dict[str, Any] = {
            "model": "tiny",
            "messages": [{"role": "user", "content": question}],
        }
        with self.open(
            "/v1/chat/completions", {**body, "temperature": 0, "max_tokens": 60, **options}
        ) as response:
            choice: dict[str, Any] = json.load(response)["choices"][0]
        return choice

    def stream(self, question: str, **options: Any) -> Iterator[str]:
        """Ask one question and give the pieces of the answer, then "[DONE]" if that came."""
        body: dict[str, Any] = {
            "model": "tiny",
            "messages": [{"role": "user", "content": question}],
        }
        body |= {"temperature": 0, "max_tokens": 60, "stream": True, **options}
        with self.open("/v1/chat/completions", body) as response:
            for line in response:
                said = line.decode().strip().removeprefix("data: ")
                if said == "[DONE]":
                    yield said
                elif said.startswith("{"):
                    for choice in json.loads(said)["choices"]:
                        yield choice["delta"].get("content") or ""


@contextmanager
def started(
    argv: Sequence[str], environment: Mapping[str, str], *, port: int, ready: str, log: Path
) -> Iterator[Started]:
    """Run a server until the block ends; its log is shown when it does not become ready."""
    key = environment["RAGKIT_LLM_API_KEY"]
    server = Started(f"http://127.0.0.1:{port}", key)
    with log.open("wb") as sink:
        process = subprocess.Popen(
            argv, env=dict(environment), stdout=sink, stderr=sink, cwd="/", start_new_session=True
        )
        try:
            _await(server, process, ready, log)
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _await(server: Started, process: "subprocess.Popen[bytes]", ready: str, log: Path) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with server.open(ready):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise AssertionError(f"not ready; its log ends:\n{log.read_text(errors='replace')[-3000:]}")
