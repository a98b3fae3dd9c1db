"""The language-model path over real HTTP, against a scripted server."""

import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from ragkit.answer.llm import CUT_SHORT, ChatGenerator, probe, refusal_in
from ragkit.answer.model_server import ModelServer
from ragkit.answer.thinking import without_thinking
from ragkit.errors import ModelServerError, SettingsError
from ragkit.types import Citation, Draft, Hit, Usage
from ragkit_serve.stub import Fault, Reply, Script, StubServer

TEXT = "Offices open at nine. Annual leave is 25 days. Leave must be booked in May."
LEAVE = Hit(
    document=7, chunk=1, uri="h.md", title="Handbook", page=2,
    start=100, end=100 + len(TEXT), text=TEXT, score=1.0,
)  # fmt: skip


def ask(
    server: StubServer, *, api_key: str | None = None, timeout_s: float = 5.0
) -> list[str | Draft]:
    generator = ChatGenerator(
        server.url, "stub", api_key=api_key, timeout_s=timeout_s, max_retries=0, max_tokens=99
    )
    return list(generator.generate("How long is annual leave?", [LEAVE]))


def answer(script: Script) -> Draft:
    with StubServer(script) as server:
        *pieces, draft = ask(server)
    assert isinstance(draft, Draft)
    assert "".join(str(piece) for piece in pieces) == draft.text
    return draft


def failure(script: Script, *, timeout_s: float = 5.0) -> str:
    with StubServer(script) as server, pytest.raises(ModelServerError) as caught:
        ask(server, timeout_s=timeout_s)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"language-model server {server.url}")
    return message.removeprefix(f"language-model server {server.url}")


def test_answer_streams_and_ends_with_a_cited_draft() -> None:
    with StubServer(lambda messages: "Annual leave lasts 25 days [1].") as server:
        *pieces, draft = ask(server)
    assert len(pieces) == 9
    assert isinstance(draft, Draft)
    assert draft.usage is not None
    assert draft.usage.completion_tokens == 9
    assert draft == Draft(
        text="Annual leave lasts 25 days [1].",
        citations=(
            Citation(
                n=1, document=7, uri="h.md", title="Handbook", page=2,
                start=122, end=146, quote="Annual leave is 25 days.",
            ),
        ),
        usage=Usage(draft.usage.prompt_tokens, 9),
    )  # fmt: skip


def test_what_is_sent() -> None:
    with StubServer() as server:
        ask(server)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer EMPTY"
    assert {key: request.body[key] for key in request.body if key != "messages"} == {
        "model": "stub",
        "temperature": 0.0,
        "max_tokens": 99,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]


def test_braces_in_a_document_are_no_template() -> None:
    text = "Use {question} and {{x}} for %s."
    with StubServer() as server:
        list(
            ChatGenerator(server.url, "stub", timeout_s=5).generate(
                "Which {braces}?", [replace(LEAVE, text=text)]
            )
        )
    content = server.requests[0].body["messages"][1]["content"]
    assert f"\n{text}\n" in content
    assert content.endswith("Question: Which {braces}?")


def test_default_stub_quotes_what_can_be_cited() -> None:
    with StubServer() as server:
        draft = ask(server)[-1]
    assert isinstance(draft, Draft)
    assert [citation.quote for citation in draft.citations] == ["Offices open at nine."]


def test_refusal() -> None:
    draft = answer(lambda messages: "The sources do not answer this question.")
    assert (draft.refused, draft.citations) == (True, ())
    assert draft.reason == "The sources do not answer this question."
    assert refusal_in("所给资料无法回答这个问题") == "所给资料无法回答这个问题。"
    assert (
        refusal_in("“所给资料无法回答这个问题。” 资料只谈到请假。") == "所给资料无法回答这个问题。"
    )
    assert refusal_in("The sources do not answer this question. But 25 days are usual.") == ""
    assert refusal_in("The sources do not answer this question fully, see [1].") == ""
    assert refusal_in("They do answer [1].") == ""


def test_no_passages_asks_nobody() -> None:
    with StubServer() as server:
        generator = ChatGenerator(server.url, "stub")
        said = list(generator.generate("谁有权批准？", []))
    assert server.requests == []
    assert said == [
        "所给资料无法回答这个问题。",
        Draft("所给资料无法回答这个问题。", refused=True, reason="所给资料无法回答这个问题。"),
    ]


def test_number_without_a_source_is_no_citation_and_stays_visible() -> None:
    draft = answer(lambda messages: "It is 25 days [9].")
    assert (draft.text, draft.citations) == ("It is 25 days [9].", ())


@pytest.mark.parametrize(
    "reply",
    [
        Reply("<think>25? [2] Yes.</think>\n\nIt is 25 days [1]."),
        Reply("It is 25 days [1].", reasoning="25? Yes."),
        Reply("\n<think>\n</think> <think>a</think>It is 25 days [1]."),
    ],
)
def test_thinking_is_kept_out(reply: Reply) -> None:
    assert answer(lambda messages: reply).text == "It is 25 days [1]."


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["a <think> b"], "a <think> b"),
        (["<", "think", ">x", "</", "think", ">", " y"], "y"),
        (["<thi"], "<thi"),
        (["<thinly veiled"], "<thinly veiled"),
        (["<think>never ends"], ""),
        ([" ", "\n", "z "], "z "),
        ([], ""),
    ],
)
def test_thinking_over_pieces(pieces: Sequence[str], expected: str) -> None:
    assert "".join(without_thinking(pieces)) == expected


def test_bare_end_of_thinking_is_an_error_with_its_remedy() -> None:
    said = failure(lambda messages: "Hm.</think>It is 25 days [1].")
    assert "mixes the thinking of model 'stub' into its answer" in said
    assert "--reasoning-parser" in said


def test_cut_by_max_tokens_says_so() -> None:
    draft = answer(lambda messages: Reply("It is 25", finish_reason="length"))
    assert draft.reason == CUT_SHORT.format(max_tokens=99)
    assert not draft.refused
    said = failure(lambda messages: Reply("<think>long", finish_reason="length"))
    assert said == (
        ": model 'stub' used up its 99 tokens before answering: allow it more, or turn its"
        " thinking off"
    )


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(status=401), " denies access (401; no API key was given): set RAGKIT_LLM_API_KEY"),
        (
            Fault(status=429, message="slow down", retry_after_s=30),
            " takes no more requests now (429; slow down): try again in 30 s",
        ),
        (
            Fault(status=429, message=""),
            " takes no more requests now (429): try again later",
        ),
        (
            Fault(status=500, message="a\nb\x1b[31m"),
            " failed (500; a b [31m): see its log, or try again later",
        ),
        (
            Fault(status=503, message="queue full"),
            " failed (503; queue full): see its log, or try again later",
        ),
        (
            Fault(status=400, message="maximum context length is 512"),
            " rejects the request (400; maximum context length is 512): if it is too long, use a"
            " smaller context budget or serve the model with a longer context",
        ),
        (
            Fault(cut="reset", text="It is"),
            " broke the connection before its answer was complete: see its log, then ask again",
        ),
        (
            Fault(cut="quiet", text="It is"),
            " stopped in the middle of its answer: see its log, then ask again",
        ),
        (
            Fault(malformed=True),
            " gave no proper OpenAI-style answer (JSONDecodeError): see its log, and check that"
            " RAGKIT_LLM_URL is such an API's base, usually ending in /v1",
        ),
    ],
)  # fmt: skip
def test_failures_are_one_line_with_a_remedy(fault: Fault, said: str) -> None:
    assert failure(lambda messages: fault) == said


def test_silence_is_bounded() -> None:
    said = failure(lambda messages: Fault(hang=True), timeout_s=0.2)
    assert said == " sent nothing for 0.2 s: see its load, or allow it a longer timeout"


def test_silence_in_the_middle_is_bounded_and_slow_answers_are_not() -> None:
    said = failure(lambda messages: Reply("It is", delay_s=1.0), timeout_s=0.2)
    assert said.startswith(" sent nothing for 0.2 s")
    with StubServer(lambda messages: Reply("25 days. " * 10, delay_s=0.04)) as server:
        assert isinstance(ask(server, timeout_s=1.0)[-1], Draft)  # 1.3 s altogether


@pytest.mark.parametrize("text", ["", "  \n"])
def test_empty_answer(text: str) -> None:
    assert failure(lambda messages: text) == (
        ": model 'stub' answered nothing: check its chat template"
    )


def test_unknown_model_lists_those_served() -> None:
    with StubServer(models=("qwen", "llama")) as server, pytest.raises(ModelServerError) as caught:
        ask(server)
    assert str(caught.value) == (
        f"language-model server {server.url} does not serve 'stub' but qwen, llama:"
        " set RAGKIT_LLM_MODEL to one it serves"
    )


def test_url_without_the_api_path() -> None:
    with StubServer() as server:
        url = server.url.removesuffix("/v1")
        with pytest.raises(ModelServerError, match=r"no such path \(404\): .* ending in /v1"):
            list(ChatGenerator(url, "stub", max_retries=0).generate("How long?", [LEAVE]))


def test_wrong_key_is_not_repeated_to_the_user() -> None:
    with StubServer(api_key="right") as server, pytest.raises(ModelServerError) as caught:
        ask(server, api_key="sk-secret")
    assert str(caught.value).endswith("(401; the API key is wrong): set RAGKIT_LLM_API_KEY")
    echo = Fault(status=500, message="bad key sk-secret")
    with StubServer(lambda messages: echo) as server, pytest.raises(ModelServerError) as caught:
        ask(server, api_key="sk-secret")
    assert "500; bad key ***" in str(caught.value)
    assert "sk-secret" not in repr(ModelServer("http://h/v1", "sk-secret"))


def test_right_key_is_sent() -> None:
    with StubServer(api_key="right") as server:
        assert isinstance(ask(server, api_key="right")[-1], Draft)
        assert probe(server.url, "right", timeout_s=5) == ["stub"]


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_refused_connection_masks_credentials() -> None:
    url = f"http://ann:pw@127.0.0.1:{unused_port()}/v1"
    shown = url.replace("ann:pw", "***")
    remedy = (
        f"language-model server {shown} refuses connections: start it, or correct RAGKIT_LLM_URL"
    )
    with pytest.raises(ModelServerError) as caught:
        list(ChatGenerator(url, "stub", max_retries=0).generate("How long?", [LEAVE]))
    assert str(caught.value) == remedy
    with pytest.raises(ModelServerError) as caught:
        probe(url, timeout_s=5)
    assert str(caught.value) == remedy
    assert ModelServer("https://h/v1?key=abc&b=c").shown == "https://h/v1?***"
    with pytest.raises(SettingsError, match=r"URL '\*\*\*@h/v1' is not one"):
        probe("ann:pw@h/v1")


def test_unresolved_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ModelServerError, match="host name that does not resolve: correct RAGKIT"):
        probe("http://nowhere.invalid:8000/v1", timeout_s=5)


@pytest.mark.parametrize(
    "url",
    [
        "", "localhost:8000/v1", "ftp://h/v1", "http://", "http://h:x/v1", "http://[/",
        "http://h:0/v1", "http://a:6\\@b/v1", "http://h /v1",
    ],
)  # fmt: skip
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(SettingsError, match="RAGKIT_LLM_URL must look like http://127"):
        ChatGenerator(url, "stub").load()
    with pytest.raises(SettingsError, match="RAGKIT_LLM_URL"):
        probe(url)


def test_one_retry_before_an_answer_has_begun() -> None:
    answers: Iterator[str | Fault] = iter([Fault(status=503), "It is 25 days [1]."])
    with StubServer(lambda messages: next(answers)) as server:
        generator = ChatGenerator(server.url, "stub", timeout_s=5, max_retries=1)
        draft = list(generator.generate("How long?", [LEAVE]))[-1]
    assert isinstance(draft, Draft)
    assert len(server.requests) == 2


def test_nothing_is_traced_whatever_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubServer() as server, StubServer() as tracing:
        endpoint = tracing.url.removesuffix("/v1")
        for name in ("LANGSMITH", "LANGCHAIN"):
            monkeypatch.setenv(f"{name}_TRACING", "true")
            monkeypatch.setenv(f"{name}_TRACING_V2", "true")
            monkeypatch.setenv(f"{name}_ENDPOINT", endpoint)
            monkeypatch.setenv(f"{name}_API_KEY", "key")
        monkeypatch.delenv(
            "LANGCHAIN_TRACING"
        )  # the first version of tracing: LangChain refuses it
        assert isinstance(ask(server)[-1], Draft)
        from langchain_core.tracers.langchain import wait_for_all_tracers

        wait_for_all_tracers()
    assert tracing.requests == []


def test_a_reader_who_leaves_ends_the_request() -> None:
    with StubServer(lambda messages: Reply("word " * 50, delay_s=0.01)) as server:
        pieces = ChatGenerator(server.url, "stub", timeout_s=5).generate("How long?", [LEAVE])
        assert next(pieces) == "word"
        pieces.close()  # type: ignore[attr-defined]
    assert len(server.requests) == 1


def test_an_endless_answer_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit.answer.llm.MAX_ANSWER_CHARS", 40)
    with (
        StubServer(lambda messages: "word " * 50) as server,
        pytest.raises(ModelServerError, match="runs past 40 characters"),
    ):
        ask(server)
