"""The other addresses that OpenAI's clients know, and what their errors become there."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import openai
import pytest

from ragkit.contracts import Embedder
from tests.serve.api.conftest import Scripted, Serve

MODEL = "multilingual-e5-small"


def client(live: Any, key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=live.base, api_key=key, max_retries=0)


def test_models_are_listed_and_looked_up(serve: Serve, scripted: Scripted) -> None:
    with serve(llm_url=scripted().url, llm_model="org/stub") as live:
        names = [model.id for model in client(live).models.list()]
        assert names == ["ragkit", "ragkit/default", "ragkit/manuals", "org/stub"]
        assert client(live).models.retrieve("ragkit/manuals").owned_by == "ragkit"
        with pytest.raises(openai.NotFoundError):
            client(live).models.retrieve("ragkit/nowhere")


def test_embeddings_are_the_embedders_own_in_both_forms(
    serve: Serve, loaded_embedder: Embedder
) -> None:
    texts = ["Leave is 28 days a year.", "The pump runs.", "休假制度"]
    expected = loaded_embedder.embed_passages(texts)
    with serve() as live:
        api = client(live)
        packed = api.embeddings.create(model=MODEL, input=texts)  # base64, unpacked by the client
        plain = api.embeddings.create(model=MODEL, input=texts, encoding_format="float")
        one = api.embeddings.create(model=MODEL, input=texts[1])
        raw = httpx.post(
            f"{live.base}/embeddings",
            json={"model": MODEL, "input": texts[1], "encoding_format": "base64"},
            timeout=30,
        ).json()
        query = httpx.post(
            f"{live.base}/embeddings",
            json={"model": MODEL, "input": texts[0], "kind": "query"},
            timeout=30,
        ).json()
    for answer in (packed, plain):
        found = np.array([item.embedding for item in answer.data], np.float32)
        np.testing.assert_allclose(found, expected, atol=1e-3)
    assert [item.index for item in packed.data] == [0, 1, 2]
    assert packed.usage.prompt_tokens == sum(len(loaded_embedder.token_spans(t)) for t in texts)
    vector = np.frombuffer(base64.b64decode(raw["data"][0]["embedding"]), "<f4")
    np.testing.assert_allclose(vector, one.data[0].embedding, atol=1e-3)
    np.testing.assert_allclose(
        query["data"][0]["embedding"], loaded_embedder.embed_query(texts[0]), atol=1e-3
    )


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"model": MODEL, "input": "word " * 1000}, 400, "split it"),
        ({"model": MODEL, "input": ""}, 400, "input"),
        ({"model": MODEL, "input": []}, 400, "input"),
        ({"model": MODEL, "input": [[1, 2, 3]]}, 400, "input"),
        ({"model": "text-embedding-3-small", "input": "x"}, 404, "this server has"),
        ({"model": MODEL, "input": "x", "dimensions": 8}, 400, "384 dimensions"),
    ],
)
def test_embeddings_refuse_what_they_would_have_to_cut_or_guess(
    serve: Serve, body: dict[str, Any], status: int, said: str
) -> None:
    with serve() as live:
        answer = httpx.post(f"{live.base}/embeddings", json=body, timeout=30)
    assert answer.status_code == status
    assert said in answer.json()["error"]["message"]


def test_reranking_puts_what_fits_first(serve: Serve) -> None:
    body: dict[str, Any] = {
        "query": "How fast does the pump turn?",
        "documents": [
            "The canteen opens at noon.",
            "The pump runs at 900 revolutions a minute.",
            "word " * 600 + "The pump runs at 900 revolutions a minute.",
        ],
        "top_n": 2,
    }
    with serve() as live:
        answer = httpx.post(f"{live.base}/rerank", json=body, timeout=60).json()
    assert answer["results"][0]["index"] == 1
    assert answer["results"][1]["index"] == 2  # nothing of a long text is left out
    assert answer["results"][0]["document"]["text"] == body["documents"][1]
    assert answer["results"][0]["relevance_score"] > answer["results"][1]["relevance_score"]


def test_a_search_has_both_legs_scores_and_the_stages_seconds(serve: Serve) -> None:
    with serve() as live:
        answer = httpx.post(f"{live.base}/search", json={"query": "paid holiday"}, timeout=30)
    found = answer.json()
    assert found["data"][0]["title"] == "Leave"
    assert set(found["data"][0]["scores"]) == {"dense", "lexical"}
    assert {"embed", "dense", "lexical", "fuse", "fetch"} <= set(found["timings"])


@pytest.mark.parametrize(
    ("kind", "scopes", "collections", "model"),
    [
        (openai.AuthenticationError, None, None, "ragkit"),
        (openai.PermissionDeniedError, ["write"], None, "ragkit"),
        (openai.NotFoundError, ["read"], ["manuals"], "ragkit/default"),
        (openai.NotFoundError, ["read"], None, "gpt-4"),
    ],
)
def test_errors_are_the_clients_own_classes(
    serve: Serve,
    key: Callable[..., str],
    kind: type[openai.APIStatusError],
    scopes: list[str] | None,
    collections: list[str] | None,
    model: str,
) -> None:
    secret = key(*(scopes or ["read"]), collections=collections)
    with serve() as live, pytest.raises(kind) as caught:
        client(live, secret if scopes else "wrong").chat.completions.create(
            model=model, messages=[{"role": "user", "content": "How many days?"}]
        )
    assert caught.value.request_id
    assert set(caught.value.body) == {"message", "type", "param", "code"}  # type: ignore[call-overload]


def test_a_quota_is_a_rate_limit_error(serve: Serve) -> None:
    with serve(serve_key_rate=1) as live:
        client(live).models.list()
        with pytest.raises(openai.RateLimitError):
            client(live).models.list()
