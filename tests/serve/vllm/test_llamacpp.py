"""A real llama.cpp server, run by `ragkit model serve`, on a GGUF file written on the spot."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.knowledge import build
from ragkit.types import Decoding, Finish, Message
from ragkit_models.gguf_header import FILE_TYPES, read_gguf
from ragkit_models.llamacpp import SETTING_VARIABLES, find_llamacpp
from tests.places import ROOT
from tests.serve.vllm.memorised import ANSWERS, TEMPLATE
from tests.serve.vllm.started import Started, free_port, started

pytestmark = pytest.mark.vllm

WRITER = Path(__file__).with_name("write_gguf.py")
NO_END = {"logit_bias": {"1": -100}, "max_tokens": 300}  # token 1 ends an answer


@pytest.fixture(scope="module")
def python() -> Path:
    file = Path(os.environ.get("RAGKIT_TEST_LLAMACPP_PYTHON", ROOT / ".venvs/llamacpp/bin/python"))
    if not file.exists():
        pytest.skip(f"there is no {file}: make venvs, or set RAGKIT_TEST_LLAMACPP_PYTHON")
    return find_llamacpp(file)


@pytest.fixture(scope="module")
def model(python: Path, memorised: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import numpy as np
    from safetensors.numpy import load_file

    folder = tmp_path_factory.mktemp("memorised") / "tiny"
    shutil.copytree(memorised, folder)
    weights: dict[str, Any] = load_file(folder / "model.safetensors")
    np.savez(folder / "weights.npz", **weights)
    out = folder / "tiny.gguf"
    subprocess.run([python, WRITER, folder, out], check=True)
    return out


@pytest.fixture(scope="module")
def server(
    python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Started]:
    port = free_port()
    stray = {"HOST": "0.0.0.0", "PORT": "1", "CONFIG_FILE": "x", "n_ctx": "64", "N_CTX": "64"}
    ours = {"RAGKIT_LLAMACPP_PYTHON": str(python), "RAGKIT_LLM_API_KEY": "sk-test"}
    argv = [sys.executable, "-m", "ragkit", "model", "serve", str(model), "--engine", "llamacpp"]
    argv += ["--port", str(port)]
    log = tmp_path_factory.mktemp("log") / "server.log"
    environment = {**os.environ, **stray, **ours}
    with started(argv, environment, port=port, ready="/v1/models", log=log) as server:
        yield server


def test_the_head_is_read_as_it_was_written(model: Path) -> None:
    header = read_gguf(model)
    assert (header.architecture, header.quantization) == ("llama", "F32")
    assert (header.context_tokens, header.chat_template) == (512, TEMPLATE)
    assert header.tensors == 21


def test_file_types_are_those_of_the_gguf_package(python: Path) -> None:
    code = (
        "from gguf.constants import LlamaFileType as t;"
        "print(*(f'{k.value}={k.name}' for k in t if k.name != 'GUESSED'))"
    )
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    theirs = {
        int(number): name.removeprefix("ALL_").removeprefix("MOSTLY_")
        for number, name in (pair.split("=") for pair in done.stdout.split())
    }
    assert theirs == FILE_TYPES


def test_the_variables_are_those_that_the_server_reads(python: Path) -> None:
    code = "from llama_cpp.server.settings import Settings as s; print(*s.model_fields)"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    assert {*done.stdout.upper().split(), "CONFIG_FILE"} == SETTING_VARIABLES


@pytest.mark.parametrize("question", ANSWERS)
def test_it_answers_word_for_word(server: Started, question: str) -> None:
    choice = server.chat(question)
    assert choice["message"]["content"] == ANSWERS[question]
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize("question", ANSWERS)
def test_it_streams(server: Started, question: str) -> None:
    *pieces, last = server.stream(question)
    assert "".join(pieces) == ANSWERS[question]
    assert last == "[DONE]"


def test_it_serves_its_name_and_only_with_the_key(server: Started) -> None:
    with server.open("/v1/models") as response:
        assert b'"id":"tiny"' in response.read()
    for path, body in (("/v1/models", None), ("/v1/chat/completions", {"messages": []})):
        with pytest.raises(HTTPError, match="401"):
            server.open(path, body, key="sk-wrong")


@pytest.mark.parametrize("question", ANSWERS)
def test_its_only_model_is_asked_for_and_answers(server: Started, question: str) -> None:
    key = SecretStr(server.key)
    model = build.language_model(Settings(llm_url=f"{server.url}/v1", llm_api_key=key))
    assert model is not None
    *pieces, finish = model.stream([Message("user", question)], Decoding(max_tokens=60))
    assert "".join(str(piece) for piece in pieces) == ANSWERS[question]
    assert model.name == "tiny"
    assert isinstance(finish, Finish)
    assert finish.reason == "stop"


def test_a_prompt_above_the_context_is_refused_by_its_size(server: Started) -> None:
    with pytest.raises(HTTPError) as caught:
        server.chat("year " * 600)
    assert caught.value.code == 400
    assert b"maximum context length is 512 tokens" in caught.value.read()


def test_a_second_question_does_not_cut_the_first_ones_stream(server: Started) -> None:
    first = server.stream("Who approves travel?", **NO_END)
    got = [next(first), next(first)]
    with ThreadPoolExecutor() as pool:
        second = pool.submit(lambda: list(server.stream("年假有多少天？")))
        got += first
        assert "".join(second.result(60)) == ANSWERS["年假有多少天？"] + "[DONE]"
    whole = list(server.stream("Who approves travel?", **NO_END))
    assert "".join(got) == "".join(whole)
    assert len("".join(whole)) > 300
