"""Which model answers where the settings name none, asked of servers as they really answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ragkit.errors import ModelServerBusyError, ModelServerError, SettingsError
from ragkit.knowledge import build
from ragkit.model import complete
from ragkit.model.choice import offered
from ragkit.model.open import servers_of
from ragkit.settings.settings import Settings
from ragkit.testing.stub_server.server import StubServer
from ragkit.types import Finish, Message, Reasoning, Usage
from ragkit.upkeep.doctor import _language_model
from ragkit.upkeep.examine_model import examine_model

ASKED = [Message("user", "How long is the leave?")]
OLLAMA = {"object": "model", "created": 1730000000, "owned_by": "library"}


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another test's server may have had the same port."""
    monkeypatch.setattr("ragkit.model.choice._lists", {})


def test_the_only_model_of_a_server_answers_and_is_asked_for_once() -> None:
    with StubServer(models=["qwen3:4b"], max_model_len=None, tokenize=False) as server:
        for _ in range(2):  # each as a program of its own would
            model = build.language_model(Settings(llm_url=server.url))
            assert model is not None
            assert complete(model, ASKED) == "How long is the leave?"
            assert model.name == "qwen3:4b"
    assert [request.path for request in server.requests].count("/v1/models") == 1
    assert {chat.body["model"] for chat in server.chats} == {"qwen3:4b"}


def test_making_a_model_asks_nothing(unused_port: int) -> None:
    build.language_model(Settings(llm_url=f"http://127.0.0.1:{unused_port}/v1"))


def test_of_several_models_the_first_that_can_write_answers() -> None:
    models = ["nomic-embed-text:latest", "llama3.2:latest", "qwen3:4b", "llama3.2:latest"]
    with StubServer(models=models) as server:
        model = build.language_model(Settings(llm_url=server.url))
        assert model is not None
        assert complete(model, ASKED)
        assert model.name == "llama3.2:latest"
        assert offered(servers_of(Settings(llm_url=server.url))) == ("llama3.2:latest", "qwen3:4b")
    assert [chat.body["model"] for chat in server.chats] == ["llama3.2:latest"]


@pytest.mark.parametrize(
    "name",
    [
        *("nomic-embed-text:latest", "mxbai-embed-large", "snowflake-arctic-embed2", "all-minilm"),
        *("qwen3-embedding:0.6b", "BAAI/bge-m3", "bge-m3:latest", "intfloat/multilingual-e5-large"),
        *("embeddinggemma", "Qwen/Qwen3-Reranker-4B", "text-embedding-3-small", "whisper-1"),
        *("paraphrase-multilingual", "thenlper/gte-large", "tts-1", "granite-embedding:30m"),
    ],
)
def test_a_model_that_writes_nothing_is_not_offered(name: str) -> None:
    with StubServer(models=[name, "qwen3:4b"]) as server:
        assert offered(servers_of(Settings(llm_url=server.url))) == ("qwen3:4b",)


@pytest.mark.parametrize("name", ["qwen3:4b", "deepseek-r1:8b", "gemma3n:e4b", "Qwen/Qwen3-8B"])
def test_a_model_that_writes_is_offered(name: str) -> None:
    with StubServer(models=[name]) as server:
        assert offered(servers_of(Settings(llm_url=server.url))) == (name,)


def test_a_list_is_asked_for_again_when_it_is_old() -> None:
    with StubServer(models=["a"]) as server:
        servers = servers_of(Settings(llm_url=server.url))
        assert offered(servers) == ("a",)
        server.models = ("a", "b")
        assert offered(servers, max_age_s=60) == ("a",)
        assert offered(servers) == ("a", "b")


def test_a_server_that_only_embeds_has_no_model_for_answers() -> None:
    with StubServer(models=["bge-m3"]) as server:
        model = build.language_model(Settings(llm_url=server.url))
        with pytest.raises(SettingsError, match="no model that can write answers"):
            _ = model.name  # type: ignore[union-attr]


@pytest.mark.parametrize("data", [[], None])
def test_a_server_without_a_model_is_said(data: object) -> None:
    with serving({"/v1/models": {"object": "list", "data": data}}) as url:
        model = build.language_model(Settings(llm_url=url))
        with pytest.raises(SettingsError, match=f"{url} has no model .*ollama pull"):
            _ = model.name  # type: ignore[union-attr]


def test_the_next_server_is_asked_when_the_first_is_gone(unused_port: int) -> None:
    gone = f"http://127.0.0.1:{unused_port}/v1"
    with StubServer(models=["m"]) as server:
        model = build.language_model(Settings(llm_url=f"{gone} {server.url}"))
        assert complete(model, ASKED)  # type: ignore[arg-type]
        assert model is not None
        assert model.name == "m"


def test_a_server_that_is_gone_is_named_and_asked_again_later(unused_port: int) -> None:
    model = build.language_model(Settings(llm_url=f"http://127.0.0.1:{unused_port}/v1"))
    assert model is not None
    with pytest.raises(ModelServerError, match="refuses connections: start it"):
        _ = model.name
    with StubServer(models=["m"], port=unused_port):
        assert model.name == "m"


def test_a_server_that_still_loads_its_model_is_busy() -> None:
    with serving({}) as url:  # every path is a 503
        model = build.language_model(Settings(llm_url=url))
        with pytest.raises(ModelServerBusyError, match=r"no more requests now \(503"):
            _ = model.name  # type: ignore[union-attr]


def test_the_key_goes_along_and_a_wrong_one_is_said() -> None:
    with StubServer(models=["m"], api_key="right") as server:
        model = build.language_model(Settings(llm_url=server.url))
        with pytest.raises(ModelServerError, match=r"no API key was given.*RAGKIT_LLM_API_KEY"):
            _ = model.name  # type: ignore[union-attr]
        model = build.language_model(
            Settings.model_validate({"llm_url": server.url, "llm_api_key": "right"})
        )
        assert model is not None
        assert model.name == "m"


def test_a_silent_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit.model.server.PROBE_TIMEOUT_S", 0.1)
    with serving({"/v1/models": None}) as url:
        model = build.language_model(Settings(llm_url=url))
        with pytest.raises(ModelServerError, match="sent nothing"):
            _ = model.name  # type: ignore[union-attr]


def test_doctor_names_the_model_that_answers() -> None:
    with StubServer(models=["qwen3:4b"], max_model_len=None, tokenize=False) as server:
        settings = Settings(llm_url=server.url)
        assert examine_model(settings).found.startswith(
            "qwen3:4b, the only model there, reachable; context taken as 4096 tokens"
            " (RAGKIT_LLM_CONTEXT_TOKENS sets it); tokens counted by an estimate"
        )
        named = _language_model(Settings(llm_url=server.url, llm_model="qwen3:4b"))
        assert named.ok
        assert named.found.startswith("qwen3:4b, reachable;")
    with StubServer(models=["a", "b"]) as server:
        first = _language_model(Settings(llm_url=server.url))
    assert first.ok
    assert first.found.startswith("a, the first of 2 models there (RAGKIT_LLM_MODEL names another)")
    none = _language_model(Settings())
    assert none.ok
    assert "RAGKIT_LLM_URL" in none.remedy
    assert "http://127.0.0.1:11434/v1" in none.remedy


def test_agents_take_the_only_model_too() -> None:
    from ragkit.agent.chats import chat_models

    with StubServer(models=["m"]) as server:
        (chat,) = chat_models(Settings(llm_url=server.url))
    assert chat.model_name == "m"  # type: ignore[attr-defined]


def test_ollamas_wire_format_is_read() -> None:
    """Its list of models, its `reasoning`, and chunks without what it does not know."""
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "qwen3:4b",
    }
    delta = {"role": "assistant", "content": ""}
    chunks: list[dict[str, Any]] = [
        {"index": 0, "delta": delta | {"reasoning": "Let me see."}, "finish_reason": None},
        {"index": 0, "delta": delta | {"content": "28 days."}, "finish_reason": None},
        {"index": 0, "delta": delta, "finish_reason": "stop"},
    ]
    events = [head | {"system_fingerprint": "fp_ollama", "choices": [chunk]} for chunk in chunks]
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    events.append(head | {"choices": [], "usage": usage})
    models = {"object": "list", "data": [{"id": "qwen3:4b", **OLLAMA}]}
    with serving({"/v1/models": models, "/v1/chat/completions": events}) as url:
        model = build.language_model(Settings(llm_url=url))
        assert model is not None
        *pieces, finish = model.stream(ASKED)
    assert pieces == [Reasoning("Let me see."), "28 days."]
    assert finish == Finish("stop", Usage(11, 5))


@contextmanager
def serving(answers: dict[str, Any]) -> Iterator[str]:
    """Serve fixed JSON, a list of it as a stream, nothing at all for None, else a 503."""
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = answers.get(self.path, ...)
            if answer is None:
                closing.wait(60)
                return
            self.send_response(503 if answer is ... else 200)
            stream = isinstance(answer, list)
            self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
            self.end_headers()
            if stream:
                lines = [*(json.dumps(event) for event in answer), "[DONE]"]
                self.wfile.write("".join(f"data: {line}\n\n" for line in lines).encode())
            elif answer is not ...:
                self.wfile.write(json.dumps(answer).encode())

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
