"""The stub server speaks the wire format that real clients read."""

import json
import select
import subprocess
import sys
import threading
import time
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest

from ragkit.testing.stub_server.cache import PrefixCache
from ragkit.testing.stub_server.server import Fault, Reply, StubServer, ToolCall
from tests.places import ROOT

QUESTION: Any = [{"role": "user", "content": "How many?"}]


def client(server: StubServer, api_key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url, api_key=api_key, max_retries=0, timeout=60)


def post(server: StubServer, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    connection.request("POST", path, body, headers)
    response = connection.getresponse()
    return response.status, response.read()


def test_whole_answer_with_usage() -> None:
    with StubServer(lambda messages: "Four of them [1].") as server:
        answer = client(server).chat.completions.create(model="stub", messages=QUESTION)
    assert answer.choices[0].message.content == "Four of them [1]."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (3, 4)
    assert server.requests[0].body["messages"] == QUESTION


def test_streamed_answer_ends_with_finish_reason_usage_and_done() -> None:
    body = {"model": "stub", "messages": QUESTION, "stream": True}
    body["stream_options"] = {"include_usage": True}
    with StubServer(lambda messages: "四个。") as server:
        status, data = post(server, "/v1/chat/completions", json.dumps(body).encode())
    events = data.decode().split("\n\n")
    frames = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
    assert status == 200
    assert events[-2:] == ["data: [DONE]", ""]
    assert [frame["choices"][0]["delta"] for frame in frames[:-1]] == [
        {"role": "assistant", "content": ""},
        {"content": "四个。"},
        {},
    ]
    assert frames[-2]["choices"][0]["finish_reason"] == "stop"
    assert frames[-1]["choices"] == []
    assert frames[-1]["usage"]["completion_tokens"] == 1


def test_stream_without_include_usage_has_none() -> None:
    with StubServer(
        lambda messages: Reply("Yes.", reasoning="Let me see.", delay_s=0.001)
    ) as server:
        stream = client(server).chat.completions.create(
            model="stub", messages=QUESTION, stream=True
        )
        chunks = list(stream)
    assert all(chunk.usage is None for chunk in chunks)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Yes."
    extras = [(chunk.choices[0].delta.model_extra or {}) for chunk in chunks]
    assert "".join(extra.get("reasoning_content", "") for extra in extras) == "Let me see."


def test_default_script_quotes_the_first_source() -> None:
    prompt = 'Sources:\n\n<source id="1" title="T">\nIt rains. It pours.\n</source>\n\nQuestion: ?'
    with StubServer() as server:
        create = client(server).chat.completions.create
        quoted = create(model="stub", messages=[{"role": "user", "content": prompt}])
        echoed = create(model="stub", messages=QUESTION)
    assert quoted.choices[0].message.content == "The first source says: “It rains.” [1]"
    assert echoed.choices[0].message.content == "How many?"


def test_a_model_has_a_script_of_its_own() -> None:
    scripts = {"b": lambda messages: "From b."}
    with StubServer(lambda messages: "From all.", models=("a", "b"), by_model=scripts) as server:
        told = [
            client(server).chat.completions.create(model=name, messages=QUESTION)
            for name in ("a", "b")
        ]
    assert [answer.choices[0].message.content for answer in told] == ["From all.", "From b."]


def test_models_key_and_unknown_model() -> None:
    with StubServer(models=("a", "b"), api_key="sésame") as server:
        assert post(server, "/v1/chat/completions", b"{}")[0] == 401
        assert post(server, "/v1/chat/completions", b"{}", Authorization="Bearer x")[0] == 401
    with StubServer(models=("a", "b"), api_key="sesame") as server:
        right = client(server, "sesame")
        assert [model.id for model in right.models.list().data] == ["a", "b"]
        with pytest.raises(openai.NotFoundError, match="`c` does not exist"):
            right.chat.completions.create(model="c", messages=QUESTION)
        with pytest.raises(openai.AuthenticationError):
            client(server, "wrong").models.list()


@pytest.mark.parametrize("status", [400, 429, 500, 503])
def test_status_faults(status: int) -> None:
    fault = Fault(status=status, message="no room", retry_after_s=7)
    with (
        StubServer(lambda messages: fault) as server,
        pytest.raises(openai.APIStatusError, match="no room") as caught,
    ):
        client(server).chat.completions.create(model="stub", messages=QUESTION)
    assert caught.value.status_code == status
    assert caught.value.response.headers["retry-after"] == "7"


def test_cut_streams_have_neither_finish_reason_nor_done() -> None:
    body = json.dumps({"model": "stub", "messages": QUESTION, "stream": True}).encode()
    with StubServer(lambda messages: Fault(cut="quiet", text="Half of")) as server:
        data = post(server, "/v1/chat/completions", body)[1]
    assert data.count(b"data: ") == 2
    assert b'"finish_reason": "stop"' not in data
    assert b"[DONE]" not in data
    with (
        StubServer(lambda messages: Fault(cut="reset", text="Half of")) as server,
        pytest.raises((HTTPException, ConnectionError)),
    ):
        post(server, "/v1/chat/completions", body)


def test_hanging_server_closes_at_once() -> None:
    with (
        StubServer(lambda messages: Fault(hang=True)) as server,
        pytest.raises(openai.APITimeoutError),
    ):
        client(server).with_options(timeout=0.1).chat.completions.create(
            model="stub", messages=QUESTION
        )
    assert len(server.requests) == 1


def test_bad_requests_are_refused_and_the_server_lives_on() -> None:
    with StubServer() as server:
        path = "/v1/chat/completions"
        assert post(server, path, b"{")[0] == 400
        assert post(server, path, b"[]")[0] == 400
        assert post(server, path, b'{"model": "stub", "messages": "x"}')[0] == 400
        assert post(server, path, b"", **{"Content-Length": "99999999"})[0] == 413
        assert post(server, path, b"", **{"Content-Length": "-1"})[0] == 411
        assert post(server, "/v1/elsewhere", b"{}")[0] == 404
        assert [model.id for model in client(server).models.list().data] == ["stub"]


def test_command_says_where_it_serves() -> None:
    command = [
        sys.executable,
        "-m",
        "ragkit.testing.stub_server",
        "--port",
        "0",
        "--model",
        "tiny",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT / "tests"
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert line.startswith("serving model tiny at http://127.0.0.1:")


def test_length_of_the_context_and_tokens_are_told() -> None:
    with StubServer(models=("a",), max_model_len=99) as server:
        (model,) = client(server).models.list().data
        assert (model.model_extra or {})["max_model_len"] == 99
        root = b'{"model": "a", "prompt": "one two", "add_special_tokens": false}'
        status, data = post(server, "/tokenize", root)
        assert (status, json.loads(data)["count"]) == (200, 2)
    with StubServer(max_model_len=None, tokenize=False) as server:
        assert client(server).models.list().data[0].model_extra == {}
        assert post(server, "/tokenize", root)[0] == 404
    assert [request.path for request in server.requests] == ["/v1/models", "/tokenize"]
    assert server.chats == []


def test_retry_after_as_a_date() -> None:
    with (
        StubServer(lambda messages: Fault(status=429, retry_date_s=60)) as server,
        pytest.raises(openai.RateLimitError) as caught,
    ):
        client(server).chat.completions.create(model="stub", messages=QUESTION)
    date = parsedate_to_datetime(caught.value.response.headers["retry-after"])
    assert 50 < date.timestamp() - time.time() <= 60


@pytest.mark.parametrize(
    ("cut", "end"),
    [
        (
            "error",
            b'data: {"error": {"message": "no room", "type": "stub_error", "code": 500}}\n\n',
        ),
        ("garbage", b'data: {"choices": [{"delta"\n\n'),
    ],
)
def test_streams_that_go_wrong_half_way(cut: Any, end: bytes) -> None:
    body = json.dumps({"model": "stub", "messages": QUESTION, "stream": True}).encode()
    with StubServer(lambda messages: Fault(cut=cut, text="Half", message="no room")) as server:
        status, data = post(server, "/v1/chat/completions", body)
    assert status == 200
    assert b'"content": "Half"' in data
    assert data.endswith(end)


@pytest.mark.parametrize(("cut", "more"), [("stall", False), ("drip", True)])
def test_streams_that_do_not_end(cut: Any, more: bool) -> None:
    body = json.dumps({"model": "stub", "messages": QUESTION, "stream": True}).encode()
    with StubServer(lambda messages: Fault(cut=cut, text="Half")) as server:
        connection = HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        assert b"Half" in response.readline()
        assert response.readline() == b"\n"
        assert connection.sock is not None
        assert bool(select.select([connection.sock], [], [], 60 if more else 0.2)[0]) is more
        left = time.monotonic()
        response.close()
        connection.close()
        while not server.disconnects:
            assert time.monotonic() < left + 60
            time.sleep(0.005)
    assert server.disconnects[0] >= left


def test_what_runs_at_once_is_counted() -> None:
    together = threading.Barrier(3, timeout=60)

    def answer(messages: object) -> str:
        together.wait()
        return "Yes."

    with StubServer(answer) as server:
        ask = client(server).chat.completions.create
        threads = [
            threading.Thread(target=lambda: ask(model="stub", messages=QUESTION)) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (server.most_running, server.running, server.disconnects) == (3, 0, [])


def test_a_tool_is_called_whole_and_streamed() -> None:
    call = ToolCall("search", {"query": "请假"})
    with StubServer(lambda messages: Reply(tool_calls=(call,))) as server:
        create = client(server).chat.completions.create
        whole = create(model="stub", messages=QUESTION).choices[0]
        chunks = list(create(model="stub", messages=QUESTION, stream=True))
    assert whole.finish_reason == "tool_calls"
    assert whole.message.tool_calls is not None
    (called,) = whole.message.tool_calls
    assert called.type == "function"
    assert (called.function.name, json.loads(called.function.arguments)) == (
        "search",
        {"query": "请假"},
    )
    (streamed,) = [c.choices[0].delta.tool_calls for c in chunks if c.choices[0].delta.tool_calls]
    assert streamed[0].function is not None
    assert streamed[0].function.name == "search"
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_the_share_of_cached_prefixes() -> None:
    prompts: list[Any] = [
        [{"role": "user", "content": "word " * 32 + ending}] for ending in ("one", "two", "one")
    ]
    with StubServer(lambda messages: "Yes.") as server:
        usages = [
            client(server).chat.completions.create(model="stub", messages=prompt).usage
            for prompt in prompts
        ]
    cached = [
        u.prompt_tokens_details.cached_tokens for u in usages if u and u.prompt_tokens_details
    ]
    assert cached == [0, 32, 32]
    assert (server.cache.tokens, server.cache.cached_tokens) == (3 * 33, 64)
    assert server.cache.share == 64 / 99


def test_a_prefix_is_cached_only_as_a_whole() -> None:
    cache = PrefixCache()
    assert cache.share == 0.0
    first = [str(n) for n in range(48)]
    assert cache.see(first) == 0
    assert cache.see(["other", *first[1:]]) == 0  # later blocks are the same, their beginning not
    assert cache.see(first[:31]) == 16


def test_embeddings_in_both_forms_for_a_real_client() -> None:
    with StubServer(embed=lambda texts: [[float(len(text)), 0.5] for text in texts]) as server:
        made = client(server).embeddings.create(model="stub", input=["ab", "abc"])  # base64
        plain = client(server).embeddings.create(
            model="stub", input="ab", encoding_format="float", dimensions=2
        )
        with pytest.raises(openai.BadRequestError, match="none of them empty"):
            client(server).embeddings.create(model="stub", input="")
        with pytest.raises(openai.NotFoundError, match="does not exist"):
            client(server).embeddings.create(model="other", input="ab")
    assert [row.embedding for row in made.data] == [[2.0, 0.5], [3.0, 0.5]]
    assert [row.index for row in made.data] == [0, 1]
    assert plain.data[0].embedding == [2.0, 0.5]
    assert (made.usage.prompt_tokens, plain.usage.prompt_tokens) == (2, 1)


def test_embeddings_fail_as_scripted() -> None:
    with StubServer(embed=lambda texts: Fault(status=429, retry_after_s=3)) as server:
        with pytest.raises(openai.RateLimitError) as caught:
            client(server).embeddings.create(model="stub", input="ab")
        assert caught.value.response.headers["retry-after"] == "3"
        server.embed = None
        with pytest.raises(openai.NotFoundError, match="no such path"):
            client(server).embeddings.create(model="stub", input="ab")
