"""The API over a model server whose model the settings do not name."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from ragkit.testing.stub_server.server import StubServer
from tests.serve.api.conftest import Serve
from tests.serve.api.test_chat import ASKED, client

TOOLS: Any = [{"type": "function", "function": {"name": "now", "parameters": {}}}]


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another test's server may have had the same port."""
    monkeypatch.setattr("ragkit.model.choice._lists", {})


def test_the_only_model_answers_under_its_own_name_too(serve: Serve) -> None:
    with StubServer(models=["qwen3:4b"]) as stub, serve(llm_url=stub.url) as live:
        api = client(live.base)
        listed = [(model.id, model.owned_by) for model in api.models.list().data]
        whole = api.chat.completions.create(model="ragkit", messages=ASKED)
        itself = api.chat.completions.create(model="qwen3:4b", messages=ASKED)
        api.chat.completions.create(model="ragkit", messages=ASKED, tools=TOOLS)
        sent = [chat.body["model"] for chat in stub.chats]
    assert ("qwen3:4b", "served") in listed
    assert "[1]" in (whole.choices[0].message.content or "")
    assert itself.choices[0].message.content == ASKED[0]["content"]
    assert sent == ["qwen3:4b"] * 3


def test_of_several_the_first_answers_and_each_under_its_own_name(serve: Serve) -> None:
    with StubServer(models=["a", "bge-m3", "b"]) as stub, serve(llm_url=stub.url) as live:
        api = client(live.base)
        listed = [model.id for model in api.models.list().data]
        for model in ("ragkit", "b"):
            api.chat.completions.create(model=model, messages=ASKED)
        for model in ("bge-m3", "c"):
            with pytest.raises(openai.NotFoundError, match="there is no model"):
                api.chat.completions.create(model=model, messages=ASKED)
        sent = [chat.body["model"] for chat in stub.chats]
    assert listed == ["ragkit", "ragkit/default", "ragkit/manuals", "a", "b"]
    assert sent == ["a", "b"]


def test_a_server_that_is_down_leaves_the_collections(serve: Serve) -> None:
    with serve(llm_url="http://127.0.0.1:9/v1", llm_timeout_s=1) as live:
        api = client(live.base)
        assert [model.id for model in api.models.list().data][:1] == ["ragkit"]
        with pytest.raises(openai.InternalServerError) as caught:
            api.chat.completions.create(model="ragkit", messages=ASKED)
    assert caught.value.status_code == 502
