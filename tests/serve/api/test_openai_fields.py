"""Annotations and usage, as OpenAI's own types read them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_message import Annotation

from ragkit.contracts import Embedder
from ragkit.testing.stub_server.frames import prompt_pieces
from ragkit.types import Answer, Citation
from ragkit_serve.api.annotations import url_citations
from tests.serve.api.conftest import Live, Scripted, Serve
from tests.serve.api.test_chat import ASKED, client, streamed

FOLLOW_UP: Any = [
    *ASKED,
    {"role": "assistant", "content": "28 days [1]."},
    {"role": "user", "content": "And when do they lapse?"},
]


def cited(n: int, start: int, *, title: str = "Handbook", page: int | None = None) -> Citation:
    return Citation(
        n=n, document=7, uri="file:///a/lease.md", title=title, page=page, start=start,
        end=start + 9, quote="x" * 9, version=1,
    )  # fmt: skip


def test_each_number_of_each_marker_is_an_annotation() -> None:
    text = "租金是985镑[1]。 Both hold [1, 2]. Nothing [9]."
    answer = Answer(
        text, refused=False, reason="",
        citations=(cited(1, 5), cited(1, 50), cited(2, 0, title="", page=3)),
    )  # fmt: skip
    found = [one["url_citation"] for one in url_citations(answer, "https://ragkit.example.org")]
    assert [text[one["start_index"] : one["end_index"]] for one in found] == [
        "[1]", "[1, 2]", "[1, 2]",
    ]  # fmt: skip
    assert [one["title"] for one in found] == ["[1] Handbook", "[1] Handbook", "[2] lease.md, p. 3"]
    place = "https://ragkit.example.org/v1/documents/7/text"
    assert [one["url"] for one in found] == [
        f"{place}?start=5&end=14", f"{place}?start=5&end=14", f"{place}?start=0&end=9",
    ]  # fmt: skip


def test_a_refusal_and_data_have_none() -> None:
    assert url_citations(Answer("I cannot say.", refused=True, reason="x"), "http://h") == []
    assert url_citations(Answer('{"a": [1]}', refused=False, reason=""), "http://h") == []


@pytest.mark.parametrize("model", [False, True])
def test_an_annotation_leads_to_the_cited_words(
    serve: Serve, scripted: Scripted, model: bool
) -> None:
    llm = {"llm_url": scripted().url, "llm_model": "stub"} if model else {}
    with serve(**llm) as live:
        answer = client(live.base).chat.completions.create(model="ragkit", messages=ASKED)
        message = answer.choices[0].message
        annotations = message.annotations or []
        content, (first, *_) = message.content or "", annotations
        assert isinstance(first, Annotation)
        assert first.type == "url_citation"
        place = first.url_citation
        assert content[place.start_index : place.end_index] == "[1]"
        assert place.url.startswith(f"{live.url}/v1/documents/")
        read = httpx.get(place.url).json()
    quote = message.model_extra["context"]["citations"][0]["quote"]  # type: ignore[index]
    assert read["text"] == quote
    assert place.title == f"[1] {read['title']}"
    assert ChatCompletion.model_validate(answer.to_dict(), strict=True)


def test_in_a_stream_they_come_with_the_last_chunk_of_a_choice(serve: Serve) -> None:
    with serve() as live:
        whole = client(live.base).chat.completions.create(model="ragkit", messages=ASKED)
        chunks = streamed(live)
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert all("annotations" not in delta for delta in deltas[:-1])
    expected = [one.model_dump() for one in whole.choices[0].message.annotations or []]
    assert deltas[-1]["annotations"] == expected
    assert expected


def test_a_request_with_tools_has_them_too(serve: Serve, scripted: Scripted) -> None:
    tools: Any = [{"type": "function", "function": {"name": "now", "parameters": {}}}]
    stub = scripted()
    with serve(llm_url=stub.url, llm_model="stub") as live:
        api = client(live.base)
        whole = api.chat.completions.create(model="ragkit", messages=ASKED, tools=tools)
        chunks = streamed(live, tools=tools)
    (annotation,) = whole.choices[0].message.annotations or []
    assert annotation.url_citation.title.startswith("[1] ")
    last = next(c for c in reversed(chunks) if c["choices"] and c["choices"][0]["finish_reason"])
    assert last["choices"][0]["delta"]["annotations"] == [annotation.model_dump()]


def test_links_have_the_address_that_the_client_used(serve: Serve, key: Any) -> None:
    secret = key("read")
    with serve(serve_hosts="ragkit.example.org") as live:
        answer = httpx.post(
            f"{live.base}/chat/completions",
            json={"model": "ragkit", "messages": ASKED},
            headers={
                "host": "ragkit.example.org",
                "x-forwarded-proto": "https",
                "x-forwarded-for": "192.0.2.7",
                "authorization": f"Bearer {secret}",
            },
        ).json()
    (annotation, *_) = answer["choices"][0]["message"]["annotations"]
    url = annotation["url_citation"]["url"]
    assert url.startswith("https://ragkit.example.org/v1/documents/")


def test_without_a_model_the_embedding_model_counts(
    serve: Serve, loaded_embedder: Embedder
) -> None:
    messages: Any = [{"role": "system", "content": "Be kind."}, *ASKED]
    with serve() as live:
        answer = client(live.base).chat.completions.create(model="ragkit", messages=messages)
        *_, last = streamed(live, messages=messages, stream_options={"include_usage": True})
        twice = client(live.base).chat.completions.create(model="ragkit", messages=messages, n=2)
    count = loaded_embedder.token_spans
    prompt = len(count("Be kind.")) + len(count(ASKED[0]["content"]))
    completion = len(count(answer.choices[0].message.content or ""))
    assert prompt > 10
    assert last["usage"] == {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    assert answer.usage is not None
    assert answer.usage.to_dict() == last["usage"]
    assert twice.usage is not None
    assert (twice.usage.prompt_tokens, twice.usage.completion_tokens) == (prompt, 2 * completion)


def test_a_models_usage_is_the_sum_of_its_calls(serve: Serve, scripted: Scripted) -> None:
    stub = scripted()
    with serve(llm_url=stub.url, llm_model="stub") as live:
        before = _tokens(live)
        answer = client(live.base).chat.completions.create(model="ragkit", messages=FOLLOW_UP)
        assert len(stub.chats) == 2  # the question made to stand alone, and the answer
        told = [len(prompt_pieces(chat.body)) for chat in stub.chats]
        counted = _tokens(live) - before
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == sum(told)
    assert counted == answer.usage.prompt_tokens


def test_a_model_server_that_tells_no_usage_is_counted_for(
    serve: Serve, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragkit.testing.stub_server.frames._usage", lambda *of: None)
    stub = scripted(lambda messages: "28 days [1].")
    with serve(llm_url=stub.url, llm_model="stub") as live:
        answer = client(live.base).chat.completions.create(model="ragkit", messages=ASKED)
    assert answer.usage is not None
    assert answer.usage.completion_tokens > 0


def _tokens(live: Live) -> int:
    return int(live.app.state.ragkit.metrics.tokens.labels("prompt")._value.get())
