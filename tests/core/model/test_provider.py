"""Other providers through LangChain: its OpenAI integration against the stub, and scripted ones."""

import time
from collections.abc import Iterator
from typing import Any

import langchain.chat_models
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langsmith import utils as langsmith_utils

from ragkit.contracts import LanguageModel
from ragkit.errors import IncompleteAnswerError, ModelError, ModelServerBusyError, ModelServerError
from ragkit.model import complete
from ragkit.model.failures import refused
from ragkit.model.provider import ProviderModel
from ragkit.testing import LanguageModelConformance
from ragkit.testing.stub_server.server import Fault, Reply, StubServer
from ragkit.types import Decoding, Finish, Message, Reasoning

ASKED = [Message("system", "Be brief."), Message("user", "How long?")]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    with StubServer(lambda messages: "Two words.") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        yield server


def openai_model(**options: Any) -> ProviderModel:
    return ProviderModel("openai", "stub", api_key="sk-secret", **options)


class TestProviderModel(LanguageModelConformance):
    @pytest.fixture
    def model(self, server: StubServer) -> LanguageModel:
        return openai_model()


def test_settings_are_passed_on(server: StubServer) -> None:
    decoding = Decoding(
        temperature=0.5, top_p=0.9, presence_penalty=0.1, max_tokens=9, stop=("END",), seed=3
    )
    complete(openai_model(), ASKED, decoding)
    (request,) = server.chats
    assert request.headers["authorization"] == "Bearer sk-secret"
    body = request.body
    assert (body["temperature"], body["top_p"], body["presence_penalty"]) == (0.5, 0.9, 0.1)
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 9
    assert (body["stop"], body["seed"], body["model"]) == (["END"], 3, "stub")
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("decoding", "name"),
    [
        (Decoding(top_k=5), "top_k"),
        (Decoding(min_p=0.1), "min_p"),
        (Decoding(repetition_penalty=1.1), "repetition_penalty"),
        (Decoding(json_schema={"type": "object"}), "json_schema"),
        (Decoding(regex="a"), "regex"),
    ],
)
def test_a_setting_without_a_name_there_is_refused(
    server: StubServer, decoding: Decoding, name: str
) -> None:
    with pytest.raises(ModelError, match=f"provider openai takes no {name}"):
        openai_model().stream(ASKED, decoding)
    assert server.requests == []


def test_failures_are_one_line_without_the_key(server: StubServer) -> None:
    server.script = lambda messages: Fault(status=400, message="bad\nkey sk-secret")
    with pytest.raises(ModelServerError) as caught:
        complete(openai_model(), ASKED)
    assert str(caught.value).startswith("model 'stub' of provider openai failed: ")
    assert "sk-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_broken_answer_is_incomplete(server: StubServer) -> None:
    server.script = lambda messages: Fault(cut="stall", text="It is")
    with pytest.raises(IncompleteAnswerError, match=r"sent nothing for 0\.3 s") as caught:
        complete(openai_model(timeout_s=0.3), ASKED)
    assert caught.value.received == "It is"


def test_closing_frees_the_server(server: StubServer) -> None:
    server.script = lambda messages: Reply("word " * 99_999, delay_s=0.01)
    stream = openai_model().stream(ASKED)
    next(stream)
    stream.close()
    closed = time.monotonic()
    while not server.disconnects:
        assert time.monotonic() < closed + 60
        time.sleep(0.005)


def test_providers_that_are_unknown_or_not_installed() -> None:
    with pytest.raises(ModelError, match="nonesuch"):
        ProviderModel("nonesuch", "any").load()
    with pytest.raises(ModelError, match=r"langchain-ollama"):
        ProviderModel("ollama", "llama3").load()


def test_reasoning_blocks_usage_and_a_missing_finish_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Thinker(GenericFakeChatModel):
        temperature: float = 1.0
        num_predict: int = 0

    made: list[dict[str, Any]] = []

    def scripted(model: str, **options: Any) -> BaseChatModel:
        made.append(options)
        said = AIMessage("<think>Let me see.</think>It is 25.")
        return Thinker(messages=iter([said]))

    monkeypatch.setattr(langchain.chat_models, "init_chat_model", scripted)
    *pieces, last = ProviderModel("any", "thinker").stream(ASKED, Decoding(max_tokens=7))
    assert "".join(p for p in pieces if isinstance(p, str)) == "It is 25."
    assert "".join(p.text for p in pieces if isinstance(p, Reasoning)) == "Let me see."
    assert last == Finish("stop", None)
    assert made[-1] == {"model_provider": "any", "temperature": 0.0, "num_predict": 7}


def test_nothing_is_traced_whatever_the_environment(
    server: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StubServer() as tracing:
        endpoint = tracing.url.removesuffix("/v1")
        for name in ("LANGSMITH", "LANGCHAIN"):
            monkeypatch.setenv(f"{name}_TRACING", "true")
            monkeypatch.setenv(f"{name}_TRACING_V2", "true")
            monkeypatch.setenv(f"{name}_ENDPOINT", endpoint)
            monkeypatch.setenv(f"{name}_API_KEY", "key")
        monkeypatch.delenv("LANGCHAIN_TRACING")  # the first version: LangChain refuses it
        forget: Any = langsmith_utils.get_env_var  # what it read before is cached
        forget.cache_clear()
        assert complete(openai_model(), ASKED) == "Two words."
        from langchain_core.tracers.langchain import wait_for_all_tracers

        wait_for_all_tracers()
    forget.cache_clear()
    assert tracing.requests == []


@pytest.mark.parametrize("status", [429, 503])
def test_a_provider_that_is_busy_keeps_its_status(server: StubServer, status: int) -> None:
    """Without a time: for a time that is told, the integration's own client waits itself."""
    server.script = lambda messages: Fault(status=status)
    with pytest.raises(ModelServerBusyError) as caught:
        complete(openai_model(), ASKED)
    assert (caught.value.status, caught.value.retry_after_s) == (status, 0)


def test_a_providers_time_is_read_from_its_error() -> None:
    error = refused("busy", 429, {"retry-after": "40"})
    assert isinstance(error, ModelServerBusyError)
    assert (error.status, error.retry_after_s) == (429, 40)
    assert type(refused("broken", 500, {"retry-after": "40"})) is ModelServerError
