"""Two stub servers in a process of their own: one streams as fast as it can, one like a model."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ragkit.testing.stub_server.server import Reply, StubServer

PIECES = {"at once": 64, "paced": 16}  # of an answer; the last says what it cites
PACE_S = 0.005  # 200 tokens a second, as a small model on a GPU


def text(kind: str) -> str:
    """Write an answer of so many pieces."""
    return " it." * (PIECES[kind] - 1) + " [1]"


@contextmanager
def running() -> Iterator[dict[str, str]]:
    """Run both in a process of their own; yield their addresses by kind."""
    command = [sys.executable, "-m", "benchmarks.serving_stub"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield dict(zip(PIECES, process.stdout.readline().split(), strict=True))
        finally:
            process.terminate()


def main() -> None:
    at_once, paced = Reply(text("at once")), Reply(text("paced"), delay_s=PACE_S)
    with StubServer(lambda messages: at_once) as fast, StubServer(lambda messages: paced) as slow:
        print(fast.url, slow.url, flush=True)
        fast.closing.wait()


if __name__ == "__main__":
    main()
