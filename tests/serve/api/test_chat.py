"""Chat completions as the official client and LangChain's read them, and byte by byte."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access.library import Library
from ragkit.contracts import Embedder
from ragkit.store.open import open_database
from ragkit.testing.stub_server.server import Fault, Reply, StubServer
from ragkit_serve.web.web import load_or_log
from tests.databases import Databases
from tests.serve.api.conftest import Scripted, Serve

ASKED: Any = [{"role": "user", "content": "How many days of paid holiday does an employee have?"}]


def client(base: str, key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=base, api_key=key, max_retries=0)


def test_an_answer_without_a_language_model_is_quoted_and_cited(serve: Serve) -> None:
    with serve() as live:
        answer = client(live.base).chat.completions.create(model="ragkit", messages=ASKED)
    choice = answer.choices[0]
    assert choice.finish_reason == "stop"
    assert choice.message.role == "assistant"
    context = choice.message.model_extra["context"]  # type: ignore[index]
    cited = context["citations"][0]
    assert cited["verdict"] == "verified"
    assert cited["quote"] in (choice.message.content or "")
    assert {"document", "version", "title", "page", "start", "end", "quote", "score"} <= set(cited)
    assert cited["score"] is not None
    assert context["refused"] is False


def events(response: httpx.Response) -> list[str]:
    """Split a stream into its events' data, insisting on the grammar."""
    text = response.read().decode()
    parts = text.split("\n\n")
    assert parts[-1] == ""
    assert all(part.startswith("data: ") for part in parts[:-1])
    return [part.removeprefix("data: ") for part in parts[:-1]]


def streamed(live: Any, **body: Any) -> list[dict[str, Any]]:
    body = {"model": "ragkit", "messages": ASKED, "stream": True} | body
    with httpx.stream("POST", f"{live.base}/chat/completions", json=body, timeout=30) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-request-id"]
        *chunks, done = events(response)
    assert done == "[DONE]"
    return [json.loads(chunk) for chunk in chunks]


def check_grammar(chunks: list[dict[str, Any]]) -> None:
    """One id, the role first, exactly one finish reason, at the end."""
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert all("role" not in chunk["choices"][0]["delta"] for chunk in chunks[1:])
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
    assert reasons[-1] in {"stop", "length"}
    assert reasons[:-1] == [None] * (len(reasons) - 1)


@pytest.mark.parametrize("model", [False, True])
def test_a_stream_has_found_citations_first_and_verified_ones_last(
    serve: Serve, scripted: Scripted, model: bool
) -> None:
    llm = {"llm_url": scripted().url, "llm_model": "stub"} if model else {}
    with serve(**llm) as live:
        chunks = streamed(live)
    check_grammar(chunks)
    first, last = (chunk["choices"][0]["delta"]["context"] for chunk in (chunks[0], chunks[-1]))
    assert {cited["verdict"] for cited in first["citations"]} == {"unverified"}
    assert {cited["verdict"] for cited in last["citations"]} == {"verified"}
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert last["citations"][0]["quote"] in text


def test_a_stream_tells_its_tokens_when_asked(serve: Serve, scripted: Scripted) -> None:
    with serve(llm_url=scripted().url, llm_model="stub") as live:
        *chunks, last = streamed(live, stream_options={"include_usage": True})
    check_grammar(chunks)
    assert all(chunk["usage"] is None for chunk in chunks)
    assert last["choices"] == []
    assert last["usage"]["prompt_tokens"] > 0
    assert last["usage"]["total_tokens"] == (
        last["usage"]["prompt_tokens"] + last["usage"]["completion_tokens"]
    )


def test_several_choices_each_have_their_grammar(serve: Serve) -> None:
    with serve() as live:
        chunks = streamed(live, n=2)
        whole = client(live.base).chat.completions.create(model="ragkit", messages=ASKED, n=2)
    for index in (0, 1):
        check_grammar([chunk for chunk in chunks if chunk["choices"][0]["index"] == index])
    assert [choice.index for choice in whole.choices] == [0, 1]


def test_langchain_talks_to_it(serve: Serve, scripted: Scripted) -> None:
    stub = scripted()
    with serve(llm_url=stub.url, llm_model="stub") as live:
        chat = ChatOpenAI(
            model="ragkit/default", base_url=live.base, api_key=SecretStr("none"), max_retries=0
        )
        question = ASKED[0]["content"]
        assert "[1]" in str(chat.invoke(question).content)
        assert "[1]" in "".join(str(piece.content) for piece in chat.stream(question))


def test_a_collection_is_named_by_the_model_or_by_the_option(serve: Serve) -> None:
    ask: Any = [{"role": "user", "content": "At how many revolutions does the pump run?"}]
    with serve() as live:
        api = client(live.base)
        by_name = api.chat.completions.create(model="ragkit/manuals", messages=ask)
        by_option = api.chat.completions.create(
            model="ragkit", messages=ask, extra_body={"ragkit": {"collection": "manuals"}}
        )
        with pytest.raises(openai.NotFoundError, match="nowhere"):
            api.chat.completions.create(model="ragkit/nowhere", messages=ask)
    assert "900" in (by_name.choices[0].message.content or "")
    assert "900" in (by_option.choices[0].message.content or "")


def test_a_filter_bounds_what_is_found(serve: Serve) -> None:
    with serve() as live:
        api = client(live.base)
        nothing = api.chat.completions.create(
            model="ragkit",
            messages=ASKED,
            extra_body={"ragkit": {"filter": {"eq": {"uri": "file:///nowhere"}}}},
        )
        with pytest.raises(openai.BadRequestError, match="character 7, at 'handbook'"):
            api.chat.completions.create(
                model="ragkit",
                messages=ASKED,
                extra_body={"ragkit": {"filter": "uri = handbook"}},
            )
        with pytest.raises(openai.BadRequestError, match="no operator 'like'"):
            api.chat.completions.create(
                model="ragkit",
                messages=ASKED,
                extra_body={"ragkit": {"filter": {"like": {"uri": "x"}}}},
            )
    assert nothing.choices[0].message.model_extra["context"]["refused"] is True  # type: ignore[index]


def test_messages_before_are_the_history_and_instructions_reach_the_model(
    serve: Serve, scripted: Scripted
) -> None:
    messages: Any = [
        {"role": "system", "content": "Answer like a pirate."},
        *ASKED,
        {"role": "assistant", "content": "28 days [1]."},
        {"role": "user", "content": "And when do unused days of them lapse?"},
    ]
    stub = scripted()
    with serve(llm_url=stub.url, llm_model="stub") as live:
        client(live.base).chat.completions.create(
            model="ragkit", messages=messages, temperature=0.5, seed=7, max_tokens=50, stop=["END"]
        )
        sent = stub.chats[-1].body
    assert "Answer like a pirate." in sent["messages"][0]["content"]
    assert "28 days" in json.dumps(sent["messages"], ensure_ascii=False)
    assert (sent["temperature"], sent["seed"], sent["max_tokens"]) == (0.5, 7, 50)
    assert sent["stop"] == ["END"]


def test_a_json_schema_binds_the_answer(serve: Serve, scripted: Scripted) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"days": {"type": "integer"}}}
    stub = scripted(lambda messages: '{"days": 28}')
    with serve(llm_url=stub.url, llm_model="stub") as live:
        answer = client(live.base).chat.completions.create(
            model="ragkit",
            messages=ASKED,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "leave", "schema": schema},
            },
        )
    assert answer.choices[0].message.content == '{"days": 28}'
    assert "json" in json.dumps(stub.chats[-1].body)


def test_the_served_model_is_passed_through(serve: Serve, scripted: Scripted) -> None:
    hello: Any = [{"role": "user", "content": "Grüß Gott 你好 👋"}]
    stub = scripted()
    with serve(llm_url=stub.url, llm_model="stub") as live:
        api = client(live.base)
        whole = api.chat.completions.create(model="stub", messages=hello)
        stream = api.chat.completions.create(model="stub", messages=hello, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    assert whole.choices[0].message.content == "Grüß Gott 你好 👋"
    assert text == "Grüß Gott 你好 👋"


@pytest.mark.parametrize("model", ["ragkit", "stub"])
def test_what_the_model_server_breaks_off_ends_in_an_error_event(
    serve: Serve, scripted: Scripted, model: str
) -> None:
    fault = Fault(cut="quiet", text="Half an ans")
    stub = scripted(lambda messages: fault)
    with serve(llm_url=stub.url, llm_model="stub") as live:
        body = {"model": model, "messages": ASKED, "stream": True}
        url = f"{live.base}/chat/completions"
        with httpx.stream("POST", url, json=body, timeout=30) as response:
            parts = events(response)
        with pytest.raises(openai.APIError, match="middle of its answer"):
            list(
                client(live.base).chat.completions.create(model=model, messages=ASKED, stream=True)
            )
    assert "[DONE]" not in parts
    error = json.loads(parts[-1])["error"]
    assert error["type"] == "server_error"
    assert not any('"finish_reason":"stop"' in part for part in parts)


def test_a_model_server_that_is_down_is_a_502_before_anything_is_streamed(serve: Serve) -> None:
    with serve(
        llm_url="http://127.0.0.1:9/v1", llm_model="gone", llm_timeout_s=1, llm_total_timeout_s=4
    ) as live:
        for model in ("ragkit", "gone"):
            with pytest.raises(openai.InternalServerError) as caught:
                client(live.base).chat.completions.create(model=model, messages=ASKED, stream=True)
            assert caught.value.status_code == 502


def test_a_missing_entailment_model_is_in_the_log_at_the_start(
    filled_databases: Databases, loaded_embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    with filled_databases.take() as url:
        settings = Settings(database_url=SecretStr(url), nli_model="nobody/nothing")
        with open_database(settings) as database:
            load_or_log(Library(settings, database))
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "that RAGKIT_NLI_MODEL names cannot be loaded" in line


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tools", [False, True])
def test_a_missing_entailment_model_is_said_before_the_model_is_asked(
    serve: Serve,
    scripted: Scripted,
    caplog: pytest.LogCaptureFixture,
    stream: bool,
    tools: bool,
) -> None:
    stub = scripted()
    before = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hello."}]
    body: dict[str, Any] = {"model": "ragkit", "messages": [*before, *ASKED], "stream": stream}
    if tools:
        body["tools"] = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    with serve(llm_url=stub.url, llm_model="stub", nli_model="nobody/nothing") as live:
        done = httpx.post(f"{live.base}/chat/completions", json=body, timeout=30)
    assert done.status_code == 500  # and not the beginning of an answer
    assert "see the server's log" in done.json()["error"]["message"]
    assert "that RAGKIT_NLI_MODEL names cannot be loaded" in caplog.text
    assert stub.chats == []


def test_another_server_answers_when_the_first_fails(serve: Serve) -> None:
    with StubServer(lambda messages: Fault(status=500)) as bad, StubServer() as good:
        both = f"{bad.url} {good.url}"
        with serve(llm_url=both, llm_model="stub") as live:
            for model in ("ragkit", "stub"):
                for _ in range(3):
                    answer = client(live.base).chat.completions.create(model=model, messages=ASKED)
                    assert answer.choices[0].message.content


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"model": "gpt-4"}, "no model 'gpt-4'"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "role"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "last message"),
        ({"messages": [{"role": "user", "content": " "}]}, "no word"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "image_url"),
        ({"logprobs": True}, "'logprobs' means nothing"),
        ({"n": 99}, "n:"),
        ({"tools": [{"type": "function"}]}, "no language model"),
        ({"ragkit": {"colection": "x"}}, "colection"),
        ({"ragkit": {"mode": "magic"}}, "mode"),
        ({"ragkit": {"refusal_threshold": 0.5}}, "calibrate"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
    ],
)
def test_nonsense_is_one_clear_line(serve: Serve, body: dict[str, Any], said: str) -> None:
    with serve() as live:
        sent = {"model": "ragkit", "messages": ASKED} | body
        response = httpx.post(f"{live.base}/chat/completions", json=sent, timeout=30)
    error = response.json()["error"]
    assert response.status_code in {400, 404}
    assert said in error["message"]
    assert "\n" not in error["message"]
    assert set(error) == {"message", "type", "param", "code"}


def test_a_body_that_is_no_json_is_said(serve: Serve) -> None:
    sound = b'{"model": "ragkit", "messages": [{"role": "user", "content": "How long?"}]}'
    with serve() as live:
        for body, kind in (
            (sound[:40], "application/json"),
            (b"\xff\xfe", "application/json"),
            (b"", "application/json"),
            (b"[]", "application/json"),
            (sound, "text/plain"),
        ):
            response = httpx.post(
                f"{live.base}/chat/completions",
                content=body,
                headers={"content-type": kind},
                timeout=30,
            )
            error = response.json()["error"]
            assert (response.status_code, error["param"]) == (400, None)
            assert "JSON" in error["message"]


def test_the_field_that_is_wrong_is_named(serve: Serve) -> None:
    with serve() as live:
        for path, body, param in (
            ("search", {"query": ""}, "query"),
            ("search", {"query": "leave", "k": 0}, "k"),
            ("embeddings", {"model": "all-MiniLM-L6-v2", "input": []}, "input"),
            (
                "chat/completions",
                {"model": "ragkit", "messages": [{"role": "x"}]},
                "messages.0.role",
            ),
        ):
            response = httpx.post(f"{live.base}/{path}", json=body, timeout=30)
            error = response.json()["error"]
            assert (response.status_code, error["param"]) == (400, param)
            assert error["message"].startswith(f"{param}: ")


def test_tools_are_the_clients_to_call_and_passages_reach_the_model(
    serve: Serve, scripted: Scripted
) -> None:
    tools: Any = [{"type": "function", "function": {"name": "now", "parameters": {}}}]
    stub = scripted()
    with serve(llm_url=stub.url, llm_model="stub") as live:
        api = client(live.base)
        whole = api.chat.completions.create(model="ragkit", messages=ASKED, tools=tools)
        chunks = list(
            api.chat.completions.create(model="ragkit", messages=ASKED, tools=tools, stream=True)
        )
        sent = stub.chats[-1].body
        early = {"ragkit": {"as_of": "1999-01-01T00:00:00Z"}}
        with pytest.raises(openai.NotFoundError, match="nothing from 1999"):
            api.chat.completions.create(
                model="ragkit", messages=ASKED, tools=tools, extra_body=early
            )
    assert sent["tools"] == tools
    assert "<source id=" in sent["messages"][-1]["content"]
    assert whole.model == "ragkit"
    message: Any = whole.choices[0].message
    assert message.context["citations"][0]["verdict"] == "verified"
    last: Any = next(c for c in reversed(chunks) if c.choices and c.choices[0].finish_reason)
    assert last.choices[0].delta.context["citations"][0]["verdict"] == "verified"


def test_reasoning_stands_beside_the_answer(serve: Serve, scripted: Scripted) -> None:
    reply = Reply("Four [1].", reasoning="Let me see.")
    stub = scripted(lambda messages: reply)
    with serve(llm_url=stub.url, llm_model="stub") as live:
        answer: Any = client(live.base).chat.completions.create(model="ragkit", messages=ASKED)
        chunks = streamed(live)
    assert answer.choices[0].message.reasoning == "Let me see."
    said = "".join(chunk["choices"][0]["delta"].get("reasoning", "") for chunk in chunks)
    assert said == "Let me see."


@pytest.mark.parametrize(
    "part",
    [
        {"chat_template": "{{ x }}"},
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}
                    ],
                }
            ]
        },
    ],
)
def test_nothing_is_fetched_or_run_for_a_client(
    serve: Serve, scripted: Scripted, part: dict[str, Any]
) -> None:
    stub = scripted()
    with serve(llm_url=stub.url, llm_model="stub") as live:
        sent = {"model": "stub", "messages": ASKED} | part
        response = httpx.post(f"{live.base}/chat/completions", json=sent, timeout=30)
        assert response.status_code == 400
        assert stub.chats == []
