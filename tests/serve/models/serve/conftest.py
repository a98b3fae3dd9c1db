"""A Launch of the fake server, and what is told of its life."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from ragkit_models.serve.address import free_port
from ragkit_models.serve.options import Launch
from ragkit_models.serve.supervise import Watch

FAKE = Path(__file__).with_name("fake_server.py")
KEY = "sk-secret-key"


@dataclass
class Fake:
    """The fake server's files, and what a watch was told."""

    folder: Path
    lines: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    on_ready: list[Callable[[], None]] = field(default_factory=list)

    def launch(self, words: str = "", *, socket: bool = False) -> Launch:
        path = self.folder / "s.sock" if socket else None
        port = free_port("127.0.0.1")
        where = ("--uds", str(path)) if path else ("--host", "127.0.0.1", "--port", str(port))
        variables = {"FAKE": words, "RUNS": str(self.folder / "runs"), "VLLM_API_KEY": KEY}
        return Launch(
            program="fake",
            argv=(sys.executable, str(FAKE), *where),
            environment={**os.environ, **variables, "HF_TOKEN": "hf-secret-token"},
            base_url=f"http://127.0.0.1:{port}/v1",
            ready_path="/health",
            key=KEY,
            unix_socket=path,
        )

    @property
    def watch(self) -> Watch:
        return Watch(
            line=self.lines.append,
            ready=self._ready,
            restart=self.told.append,
            stopping=lambda: self.told.append("stopping"),
        )

    def _ready(self) -> None:
        self.told.append("ready")
        self.on_ready.pop(0)()

    def pids(self) -> list[list[int]]:
        """The process ids of each start: the server's, then its child's."""
        file = self.folder / "runs"
        starts = file.read_text().splitlines() if file.exists() else []
        return [[int(pid) for pid in line.split()] for line in starts]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


def interrupt() -> None:
    """Stand in for Ctrl-C."""
    raise KeyboardInterrupt


def crash(launch: Launch) -> Callable[[], None]:
    """Have the server end itself."""

    def ask() -> None:
        path = launch.unix_socket
        transport = httpx.HTTPTransport(uds=str(path)) if path else httpx.HTTPTransport()
        with httpx.Client(transport=transport, trust_env=False) as client:
            url = launch.base_url.removesuffix("/v1") + "/crash"
            with pytest.raises(httpx.TransportError):
                client.get(url, headers={"Authorization": f"Bearer {KEY}"})

    return ask


def is_running(pid: int) -> bool:
    """Tell whether a process is there and no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(true: Callable[[], object], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)
