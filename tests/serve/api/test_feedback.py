"""/v1/feedback over the real app: rated by who was answered, listed for who may."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ragkit.store.open import Database
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit.testing.stub_server.server import quote_first_source
from ragkit.types import Answer, Citation
from tests.serve.api.conftest import Scripted, Serve

ANSWER = Answer("28 days [1].", False, "", (Citation(1, 7, "h.md", "H", 2, 10, 20, "28 days"),))
ASKED: Any = [{"role": "user", "content": "How many days of paid holiday does an employee have?"}]


def keep(database: Database, id: str, principal: str, collection: str = "default") -> None:
    KeptAnswers(database.pool, "default", principal, keep_days=30).keep(
        id, collection=collection, question="要多久?", answer=ANSWER, completion={}
    )


def headed(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_an_answer_asked_for_with_store_can_be_rated(serve: Serve) -> None:
    with serve(serve_auth="none") as live, httpx.Client(base_url=live.url, timeout=30) as http:
        body = {"model": "ragkit", "messages": ASKED}
        forgotten = http.post("/v1/chat/completions", json=body).json()
        kept = http.post("/v1/chat/completions", json=body | {"store": True}).json()
        new = {"answer_id": kept["id"], "rating": "down", "comment": "错"}
        rated = http.post("/v1/feedback", json=new)
        assert rated.status_code == 200
        assert rated.json()["answer"] == kept["choices"][0]["message"]["content"]
        assert rated.json()["question"] == ASKED[0]["content"]
        again = http.post("/v1/feedback", json=new | {"rating": "up", "comment": ""}).json()
        assert (again["id"], again["rating"], again["comment"]) == (rated.json()["id"], "up", "")
        missing = http.post("/v1/feedback", json=new | {"answer_id": forgotten["id"]})
        assert missing.status_code == 404
        assert "ask with `store` switched on" in missing.json()["error"]["message"]
        asked = body | {"ragkit": {"conversation": "new"}}
        talk = http.post("/v1/chat/completions", json=asked).json()
        number = talk["choices"][0]["message"]["context"]["conversation"]
        turn = http.post("/v1/feedback", json={"answer_id": f"{number}/1", "rating": "up"})
        assert turn.json()["answer_id"] == f"{number}/1"
        items = [json.loads(one) for one in http.get("/v1/feedback/export").text.splitlines()]
    assert [item["rating"] for item in items] == ["up", "up"]
    cited = items[1]["citations"][0]
    assert set(cited) == {"document", "version", "uri", "start", "end", "quote"}
    assert cited["quote"] in items[1]["answer"]


FIRST, FOLLOW_UP = "How many days of paid holiday are there?", "And when do they lapse?"
TOLD: Any = [
    {"role": "user", "content": FIRST},
    {"role": "assistant", "content": "Every employee has 28 days of paid holiday [1]."},
    {"role": "user", "content": FOLLOW_UP},
]
REWRITTEN = "When do unused days of paid holiday lapse?"


def rewriting(messages: Any) -> str:
    """Rewrite when asked to, else quote."""
    return (
        REWRITTEN if "Next question: " in messages[-1]["content"] else quote_first_source(messages)
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("conversation", [False, True])
@pytest.mark.parametrize("model", [False, True])
def test_a_rated_follow_up_is_exported_as_a_question_that_stands_alone(
    serve: Serve, scripted: Scripted, model: bool, conversation: bool, stream: bool
) -> None:
    llm = {"llm_url": scripted(rewriting).url, "llm_model": "stub"} if model else {}
    with (
        serve(serve_auth="none", **llm) as live,
        httpx.Client(base_url=live.url, timeout=30) as http,
    ):
        body = {"model": "ragkit", "messages": TOLD, "store": True, "stream": stream}
        if conversation:
            begun = body | {"messages": TOLD[:1], "ragkit": {"conversation": "new"}}
            first = http.post("/v1/chat/completions", json=begun | {"stream": False}).json()
            context = first["choices"][0]["message"]["context"]
            body["ragkit"] = {"conversation": context["conversation"]}
        answered = http.post("/v1/chat/completions", json=body)
        id = answered.text.split('"id":"')[1].split('"')[0]
        http.post("/v1/feedback", json={"answer_id": id, "rating": "up"}).raise_for_status()
        (item,) = map(json.loads, http.get("/v1/feedback/export").text.splitlines())
    expanded = "And when do they lapse? (days paid holiday)"
    assert item["asked"] == FOLLOW_UP
    assert item["question"] == (REWRITTEN if model else expanded)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("answer_id", ""),
        ("answer_id", "x" * 201),
        ("answer_id", 1),
        ("rating", "sideways"),
        ("rating", 1),
        ("comment", "x" * 4001),
        ("else", 1),
    ],
)
def test_what_is_no_rating_is_refused_naming_the_field(
    serve: Serve, field: str, value: object
) -> None:
    with serve(serve_auth="none") as live:
        body = {"answer_id": "a", "rating": "up", field: value}
        response = httpx.post(f"{live.url}/v1/feedback", json=body)
    assert (response.status_code, response.json()["error"]["param"]) == (400, field)


def test_everybodys_is_for_admins_and_within_their_collections(
    database: Database, serve: Serve, key: Callable[..., str]
) -> None:
    keep(database, "a", "ann")
    keep(database, "m", "ann", "manuals")
    keep(database, "b", "bob")
    ann = headed(key("read", principal="ann", tenant="default"))
    bob = headed(key("read", principal="bob", tenant="default"))
    boss = headed(key("read", "admin", principal="boss", tenant="default"))
    limited = headed(key("read", "admin", principal="l", tenant="default", collections=["manuals"]))
    other = headed(key("read", "admin", principal="ann", tenant="other"))
    with serve() as live, httpx.Client(base_url=live.url) as http:

        def rate(who: dict[str, str], id: str) -> httpx.Response:
            return http.post("/v1/feedback", json={"answer_id": id, "rating": "up"}, headers=who)

        assert rate({}, "a").status_code == 401
        assert [rate(who, "a").status_code for who in (bob, boss, limited, other)] == [404] * 4
        ids = {id: rate(who, id).json()["id"] for who, id in ((ann, "a"), (ann, "m"), (bob, "b"))}
        for path in ("/v1/feedback", "/v1/feedback/export"):
            assert http.get(path).status_code == 401
            assert http.get(path, headers=ann).status_code == 403
        page = http.get("/v1/feedback", params={"limit": 2}, headers=boss).json()
        assert [one["answer_id"] for one in page["data"]] == ["b", "m"]
        assert (page["has_more"], page["last_id"]) == (True, str(ids["m"]))
        rest = http.get("/v1/feedback", params={"after": page["last_id"]}, headers=boss).json()
        assert [one["answer_id"] for one in rest["data"]] == ["a"]
        seen = http.get("/v1/feedback", headers=limited).json()["data"]
        assert [one["answer_id"] for one in seen] == ["m"]
        assert len(http.get("/v1/feedback/export", headers=limited).text.splitlines()) == 1
        assert http.get("/v1/feedback", headers=other).json()["data"] == []
        exported = http.get("/v1/feedback/export", headers=other)
        assert (exported.status_code, exported.text) == (200, "")
        assert exported.headers["content-type"] == "application/x-ndjson"
        assert http.get("/v1/feedback?rating=down", headers=boss).json()["data"] == []
        # One's own may be deleted, an admin may delete anybody's that he sees.
        path = f"/v1/feedback/{ids['a']}"
        refused = [http.delete(path, headers=who).status_code for who in (bob, limited, other)]
        assert refused == [404] * 3
        deleted = http.delete(path, headers=ann)
        assert deleted.json() == {"object": "feedback", "id": ids["a"], "deleted": True}
        assert http.delete(path, headers=ann).status_code == 404
        assert http.delete(f"/v1/feedback/{ids['b']}", headers=boss).status_code == 200
        assert http.delete(f"/v1/feedback/{2**63}", headers=boss).status_code == 400
