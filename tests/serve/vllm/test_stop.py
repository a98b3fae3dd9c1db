"""The real vLLM with its usual compilation, at a unix socket, is told to stop in the middle."""

import signal
import time
from pathlib import Path

import pytest

from tests.serve.vllm.memorised import ANSWERS
from tests.serve.vllm.served import served
from tests.serve.vllm.test_serve import NO_END, QUESTION, ask, body, events

pytestmark = pytest.mark.vllm


def test_a_running_stream_ends_whole_when_it_is_stopped(memorised: Path, tmp_path: Path) -> None:
    """Also with the options that the other server has not, and at a unix socket."""
    chosen: list[object] = ["--unix-socket", tmp_path / "v.sock", "--max-num-seqs", 8]
    chosen += ["--shutdown-timeout", 60]  # another test may take both cores
    chosen += ["--speculative-ngram-tokens", 3, "--structured-outputs", "xgrammar"]
    if "avx512" in Path("/proc/cpuinfo").read_text():  # on a CPU with less its worker died at start
        chosen += ["--kv-cache-dtype", "fp8"]
    with served(memorised, tmp_path, *chosen) as running, running.client() as client:
        assert ask(client)["message"]["content"] == ANSWERS[QUESTION]
        left = running.descendants()
        long = body(stream=True, max_tokens=450, **NO_END)
        with client.stream("POST", "/v1/chat/completions", json=long) as told:
            pieces = events(told.iter_lines())
            first = [next(pieces) for _ in range(3)]
            running.process.send_signal(signal.SIGTERM)
            *rest, last = pieces
        assert last == "[DONE]"
        assert len(first) + len(rest) > 100
        assert running.process.wait(60) == 143
        deadline = time.monotonic() + 60  # for the kernel to clear up after the last of them
        while any(Path(f"/proc/{pid}").exists() for pid in left):
            assert time.monotonic() < deadline, left
