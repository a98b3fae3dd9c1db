"""Kept answers over the real app, as OpenAI's own client shows and deletes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

from ragkit.store.open import Database
from tests.serve.api.conftest import Live, Scripted, Serve

ASKED: Any = [{"role": "user", "content": "How many days of paid holiday does an employee have?"}]


def client(live: Live, secret: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=live.base, api_key=secret, max_retries=0)


@pytest.mark.parametrize("model", [False, True])
def test_a_kept_answer_is_shown_as_it_was_and_deleted(
    serve: Serve, scripted: Scripted, model: bool
) -> None:
    llm = {"llm_url": scripted().url, "llm_model": "stub"} if model else {}
    with serve(serve_auth="none", **llm) as live:
        completions = client(live).chat.completions
        first = completions.create(model="ragkit", messages=ASKED, store=True, n=2)
        forgotten = completions.create(model="ragkit", messages=ASKED)
        shown = completions.retrieve(first.id)
        assert shown.to_dict() == first.to_dict()
        assert shown.choices[1].message.model_extra["context"]["citations"]  # type: ignore[index]
        assert shown.usage is not None
        assert shown.usage.total_tokens > 0
        with pytest.raises(openai.NotFoundError, match=forgotten.id):
            completions.retrieve(forgotten.id)
        rated = httpx.post(
            f"{live.base}/feedback", json={"answer_id": first.id, "rating": "up"}
        ).json()
        deleted = completions.delete(first.id)
        assert deleted.to_dict() == {
            "object": "chat.completion.deleted",
            "id": first.id,
            "deleted": True,
        }
        for act in (completions.retrieve, completions.delete):
            with pytest.raises(openai.NotFoundError, match="there is no kept answer"):
                act(first.id)
        listed = httpx.get(f"{live.base}/feedback").json()["data"]
        assert listed == [rated]  # with its copy


def test_a_streamed_answer_is_shown_whole(serve: Serve) -> None:
    with serve(serve_auth="none") as live:
        completions = client(live).chat.completions
        stream = completions.create(model="ragkit", messages=ASKED, store=True, stream=True)
        chunks = list(stream)
        shown = completions.retrieve(chunks[0].id)
    assert shown.object == "chat.completion"
    assert (shown.created, shown.model) == (chunks[0].created, "ragkit")
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert shown.choices[0].message.content == text
    last = chunks[-1].choices[0]
    assert shown.choices[0].finish_reason == last.finish_reason
    context = shown.choices[0].message.model_extra["context"]  # type: ignore[index]
    assert context == last.delta.model_extra["context"]  # type: ignore[index]


def test_anothers_answer_is_not_there(serve: Serve, key: Callable[..., str]) -> None:
    owner = key("read", principal="ann", tenant="default")
    limited = key("read", principal="ann", tenant="default", collections=["manuals"])
    others = [
        key("read", "admin", principal="bob", tenant="default"),
        key("read", principal="ann", tenant="other"),
        limited,
    ]
    with serve() as live:
        mine = client(live, owner).chat.completions
        id = mine.create(model="ragkit", messages=ASKED, store=True).id
        unknown = "chatcmpl-unknown"
        for secret in others:
            theirs = client(live, secret).chat.completions
            for act in (theirs.retrieve, theirs.delete):
                told = []
                for one in (id, unknown):
                    with pytest.raises(openai.NotFoundError) as caught:
                        act(one)
                    told.append(json.dumps(caught.value.body).replace(one, "ID"))
                assert told[0] == told[1]
        for method in ("GET", "DELETE"):
            path = f"{live.base}/chat/completions/{id}"
            assert httpx.request(method, path).status_code == 401
        wrong = client(live, key("write")).chat.completions
        with pytest.raises(openai.PermissionDeniedError):
            wrong.retrieve(id)
        assert mine.retrieve(id).id == id


def test_a_kept_answer_is_gone_after_the_days_of_the_setting(
    serve: Serve, database: Database
) -> None:
    with serve(serve_auth="none", serve_keep_days=2) as live:
        completions = client(live).chat.completions
        id = completions.create(model="ragkit", messages=ASKED, store=True).id
        with database.pool.connection() as conn:
            conn.execute("UPDATE kept_answer SET created_at = now() - interval '47 hours'")
        assert completions.retrieve(id).id == id
        with database.pool.connection() as conn:
            conn.execute("UPDATE kept_answer SET created_at = now() - interval '48 hours'")
        for act in (completions.retrieve, completions.delete):
            with pytest.raises(openai.NotFoundError):
                act(id)
        rated = httpx.post(f"{live.base}/feedback", json={"answer_id": id, "rating": "up"})
        assert rated.status_code == 404
