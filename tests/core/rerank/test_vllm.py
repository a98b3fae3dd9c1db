"""A tiny cross-encoder behind the real vLLM, and the same one in this process."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ragkit.errors import ModelServerError
from ragkit.rerank.cross_encoder import CrossEncoderReranker
from ragkit.rerank.server import ServerReranker
from ragkit.testing.conformance.reranker import QUERY
from tests.core.rerank.conftest import TEXTS, ZH_QUERY, Make
from tests.serve.vllm.served import vllm_python
from tests.serve.vllm.started import FEWER_PROCESSES, free_port

pytestmark = pytest.mark.vllm

READY_S = 600.0
KEY = "secret-key"
SHORT = [text for text in TEXTS if 0 < len(text) < 60 and "[SEP]" not in text]


@pytest.fixture(scope="module")
def folder(make: Make) -> Path:
    return make("Bert", num_attention_heads=1)  # vLLM's CPU build takes heads of 32 and more


@pytest.fixture(scope="module")
def base(folder: Path) -> Iterator[str]:
    """The address of a server, which is stopped in the end."""
    python, port = vllm_python(), free_port()
    log = folder.parent / "log"
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    command += ["--served-model-name", "tiny", "--runner", "pooling", "--dtype", "float32"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--api-key", KEY]
    command += ["--enforce-eager"]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    environment |= FEWER_PROCESSES
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=folder)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(process, address, log)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            if httpx.get(f"{address}/health", timeout=2, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        said = log.read_text(errors="replace")[-3000:]
        assert process.poll() is None, f"it ended; its log ends:\n{said}"
        assert time.monotonic() < deadline, f"not in time; its log ends:\n{said}"
        time.sleep(0.2)


@pytest.mark.usefixtures("float32")
@pytest.mark.parametrize("query", [QUERY, ZH_QUERY])
def test_its_scores_are_those_of_the_model_here(base: str, folder: Path, query: str) -> None:
    here = CrossEncoderReranker(str(folder), device="cpu").rerank(query, SHORT)
    assert max(here) - min(here) > 0.01
    for address in (base, f"{base}/v1"):
        there = ServerReranker(address, model="tiny", api_key=KEY)
        assert list(there.rerank(query, SHORT)) == pytest.approx(list(here), abs=1e-3)


def test_what_it_refuses_is_told(base: str) -> None:
    with pytest.raises(ModelServerError, match=r"404.*nothing-served"):
        ServerReranker(base, model="nothing-served", api_key=KEY).load()
    with pytest.raises(ModelServerError, match="set RAGKIT_RERANKER_API_KEY"):
        ServerReranker(f"{base}/v1", api_key="wrong").load()
