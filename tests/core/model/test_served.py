"""A language model behind a server, over real HTTP: what is sent, what is read, what is limited."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from ragkit.contracts import LanguageModel
from ragkit.errors import IncompleteAnswerError, ModelServerError, SettingsError
from ragkit.model import complete
from ragkit.model.failover import Tries
from ragkit.model.served import ServedModel
from ragkit.testing import LanguageModelConformance
from ragkit.testing.stub_server.server import Fault, Reply, StubServer
from ragkit.types import Decoding, Finish, Message, Reasoning

ASKED = [Message("system", "Be brief."), Message("user", "How long is the leave?")]
ONCE = Tries(rounds=1)


def model(
    server: StubServer,
    *,
    timeout_s: float = 5.0,
    total_timeout_s: float = 20.0,
    tries: Tries = ONCE,
) -> ServedModel:
    return ServedModel(
        [server.url], "stub", timeout_s=timeout_s, total_timeout_s=total_timeout_s, tries=tries
    )


def until(happened: Callable[[], bool], *, deadline_s: float = 60.0) -> None:
    """Wait for something."""
    began = time.monotonic()
    while not happened():
        assert time.monotonic() - began < deadline_s, "it never happened"
        time.sleep(0.005)


class TestServedModel(LanguageModelConformance):
    @pytest.fixture
    def model(self) -> Iterator[LanguageModel]:
        with StubServer(lambda messages: Reply("Two words.", reasoning="Hm.")) as server:
            yield model(server)


def test_every_decoding_setting_is_sent_under_vllms_name() -> None:
    decoding = Decoding(
        temperature=0.7, top_p=0.9, top_k=40, min_p=0.05, repetition_penalty=1.1,
        presence_penalty=0.5, max_tokens=99, stop=("\n", "END"), seed=7, regex="[a-z]+",
    )  # fmt: skip
    with StubServer() as server:
        complete(model(server), ASKED, decoding)
    (request,) = server.chats
    assert request.headers["authorization"] == "Bearer EMPTY"
    assert len(request.headers["x-prompt-prefix"]) == 16
    assert request.body == {
        "model": "stub",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How long is the leave?"},
        ],
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "repetition_penalty": 1.1,
        "presence_penalty": 0.5,
        "max_tokens": 99,
        "stop": ["\n", "END"],
        "seed": 7,
        "structured_outputs": {"regex": "[a-z]+"},
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_what_is_not_chosen_is_left_to_the_server() -> None:
    with StubServer() as server:
        complete(model(server), ASKED)
    body = server.chats[0].body
    assert body.keys() == {
        "model", "messages", "temperature", "max_tokens", "stream", "stream_options",
    }  # fmt: skip
    assert (body["temperature"], body["max_tokens"]) == (0.0, 1024)


def test_a_schema_is_sent_as_response_format() -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}}
    with StubServer() as server:
        complete(model(server), ASKED, Decoding(json_schema=schema))
    assert server.chats[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": True},
    }


@pytest.mark.parametrize(
    "reply",
    [
        Reply("It is 25.", reasoning="Let me see."),
        Reply("<think>Let me see.</think>\n\nIt is 25."),
        Reply("<think>Let me", reasoning="", finish_reason="length"),
    ],
)
def test_reasoning_is_kept_apart(reply: Reply) -> None:
    with StubServer(lambda messages: reply) as server:
        *pieces, last = model(server).stream(ASKED)
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    thought = "".join(piece.text for piece in pieces if isinstance(piece, Reasoning))
    cut = reply.finish_reason == "length"
    assert (text, thought) == (("", "Let me") if cut else ("It is 25.", "Let me see."))
    assert isinstance(last, Finish)
    assert last.reason == reply.finish_reason


def test_the_cached_part_of_the_prompt_is_counted() -> None:
    long = [Message("user", "word " * 40)]
    with StubServer(lambda messages: "Yes.") as server:
        finishes = [list(model(server).stream(long))[-1] for _ in range(2)]
    cached = [finish.usage for finish in finishes if isinstance(finish, Finish)]
    assert [usage.cached_tokens for usage in cached if usage] == [0, 32]


def test_an_end_of_thinking_without_a_beginning_has_a_remedy() -> None:
    with (
        StubServer(lambda messages: "Hm.</think>It is 25 days.") as server,
        pytest.raises(IncompleteAnswerError, match=r"mixes the thinking .* --reasoning") as e,
    ):
        complete(model(server), ASKED)
    assert e.value.received == "Hm.</think>It is 25 days."


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        ("reset", "broke the connection before its answer was complete: see its log"),
        ("quiet", "stopped in the middle of its answer: see its log"),
        ("stall", "sent nothing for 0.3 s: see its load"),
        ("drip", "sent nothing for 0.3 s: see its load"),
        ("error", "broke its answer off with an error; out of memory: see its log"),
        ("garbage", r"gave no proper OpenAI-style answer \(JSONDecodeError\)"),
    ],
)
def test_a_broken_answer_is_incomplete_and_never_asked_again(cut: str, said: str) -> None:
    fault = Fault(cut=cut, text="It is 25", message="out of memory")  # type: ignore[arg-type]
    with (
        StubServer(lambda messages: fault) as server,
        pytest.raises(IncompleteAnswerError, match=said) as caught,
    ):
        complete(model(server, timeout_s=0.3, tries=Tries(backoff_s=0.01)), ASKED)
    assert caught.value.received == "It is 25"
    assert str(caught.value).startswith(
        f"the answer is incomplete: language-model server {server.url} "
    )
    assert "\n" not in str(caught.value)
    assert len(server.chats) == 1


@pytest.mark.parametrize("reason", ["abort", "error"])
def test_an_answer_that_the_server_gave_up_is_incomplete(reason: str) -> None:
    with (
        StubServer(lambda messages: Reply("It is 25", finish_reason=reason)) as server,
        pytest.raises(IncompleteAnswerError, match="stopped in the middle"),
    ):
        complete(model(server), ASKED)


def test_reasoning_that_broke_off_is_not_asked_for_again() -> None:
    with (
        StubServer(lambda messages: Fault(cut="reset", text="<think>Let me")) as server,
        pytest.raises(IncompleteAnswerError) as caught,
    ):
        complete(model(server, tries=Tries(backoff_s=0.01)), ASKED)
    assert caught.value.received == ""
    assert len(server.chats) == 1


def test_the_whole_answer_is_bounded_however_it_drips() -> None:
    with StubServer(lambda messages: Reply("Yes.")) as server:
        assert complete(model(server), ASKED) == "Yes."  # what is imported first has no part in it
    with (
        StubServer(lambda messages: Reply("word " * 9999, delay_s=0.02)) as server,
        pytest.raises(IncompleteAnswerError, match=r"longer than 0\.5 s for the whole") as caught,
    ):
        complete(model(server, total_timeout_s=0.5), ASKED)
    assert caught.value.received.startswith("word word")


def test_all_tries_together_are_bounded() -> None:
    busy = Fault(status=503)
    with (
        StubServer(lambda messages: busy) as server,
        pytest.raises(ModelServerError, match=r"took longer than 0\.3 s"),
    ):
        complete(model(server, total_timeout_s=0.3, tries=Tries(99, backoff_s=0.05)), ASKED)
    assert len(server.chats) < 99


def test_a_slow_answer_is_no_silence() -> None:
    began = time.monotonic()
    with StubServer(lambda messages: Reply("25 days. " * 10, delay_s=0.04)) as server:
        assert complete(model(server, timeout_s=0.5), ASKED).startswith("25 days.")
    assert time.monotonic() - began > 0.5


@pytest.mark.parametrize(
    "reply",
    [Reply("word " * 99_999, delay_s=0.01), Reply("Too late.", prefill_s=999), Fault(hang=True)],
)
def test_closing_frees_the_server(reply: Reply | Fault) -> None:
    """From another thread, while this one waits, also before anything has come."""
    with StubServer(lambda messages: reply) as server:
        stream = model(server, timeout_s=999, total_timeout_s=999).stream(ASKED)
        reader = threading.Thread(target=lambda: list(stream), daemon=True)
        reader.start()
        until(lambda: server.running == 1)
        stream.close()
        until(lambda: bool(server.disconnects))
        reader.join(timeout=60)
        assert not reader.is_alive()
    assert server.most_running == 1


def test_a_forgotten_stream_frees_the_server() -> None:
    with StubServer(lambda messages: Reply("word " * 99_999, delay_s=0.01)) as server:
        stream = model(server, timeout_s=999, total_timeout_s=999).stream(ASKED)
        next(stream)
        del stream
        until(lambda: bool(server.disconnects))


def test_an_endless_answer_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit.model.exchange.MAX_ANSWER_CHARS", 40)
    with (
        StubServer(lambda messages: "word " * 50) as server,
        pytest.raises(IncompleteAnswerError, match="runs past 40 characters"),
    ):
        complete(model(server), ASKED)


def test_many_at_once_share_one_connection_pool() -> None:
    with StubServer(lambda messages: Reply("Yes.", prefill_s=0.2)) as server:
        shared, said = model(server), []
        threads = [
            threading.Thread(target=lambda: said.append(complete(shared, ASKED))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert said == ["Yes."] * 8
    assert server.most_running == 8


@pytest.mark.parametrize(
    "url",
    [
        "", "localhost:8000/v1", "ftp://h/v1", "http://", "http://h:x/v1", "http://[/",
        "http://h:0/v1", "http://a:6\\@b/v1", "http://h /v1",
    ],
)  # fmt: skip
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(SettingsError, match="RAGKIT_LLM_URL must look like http://127"):
        ServedModel([url], "stub").stream(ASKED)


def test_loading_asks_no_server() -> None:
    with StubServer() as server:
        model(server).load()
    assert server.requests == []


def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubServer() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(ModelServerError, match="no such path"):
            complete(ServedModel(["http://model.invalid/v1"], "stub", tries=ONCE), ASKED)
    assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"


def test_a_name_and_password_in_the_url_are_sent() -> None:
    with StubServer() as server:
        url = server.url.replace("://", "://ada:secret@")
        complete(ServedModel([url], "stub", tries=ONCE), ASKED)
    assert server.chats[0].headers["authorization"] == "Basic YWRhOnNlY3JldA=="
