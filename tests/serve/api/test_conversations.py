"""/v1/conversations over the real app: one's own, page by page, and nobody else's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from ragkit.store.open import Database
from ragkit.store.people.conversations import Conversations, StoredTurn
from ragkit.types import Citation, Claim
from tests.serve.api.conftest import Serve

TURN = StoredTurn(
    question="And how long?",
    query="How long is the leave?",
    answer="25 days [1].",
    refused=False,
    reason="",
    citations=(
        Citation(1, 7, "h.md", "Handbook", 2, 10, 20, "25 days", "verified", 4, ("Leave",)),
    ),
    claims=(Claim(0, 12, (1,), "supported"),),
    unverified=("31",),
)


def add(database: Database, title: str, principal: str = "default", about: str = "default") -> UUID:
    mine, number, token = Conversations(database.pool, "default", principal), uuid4(), uuid4()
    mine.begin(number, token, new=(about, title))
    mine.finish(number, token, TURN)
    return number


@pytest.fixture
def http(serve: Serve) -> Iterator[httpx.Client]:
    with serve(serve_auth="none") as live, httpx.Client(base_url=live.url) as client:
        yield client


def error(response: httpx.Response) -> tuple[int, str, str | None]:
    told = response.json()["error"]
    return response.status_code, told["message"], told["param"]


def test_conversations_are_searched_by_title_and_question(
    database: Database, http: httpx.Client
) -> None:
    for title in ("Leave", "Warranty"):
        add(database, title)
    add(database, "Leave of others", principal="somebody")
    searched = http.get("/v1/conversations", params={"search": "leave"}).json()["data"]
    assert [one["title"] for one in searched] == ["Leave"]
    asked = http.get("/v1/conversations", params={"search": "HOW LONG"}).json()["data"]
    assert len(asked) == 2
    assert error(http.get("/v1/conversations", params={"search": "x" * 201}))[0] == 400


def test_a_conversation_is_listed_and_read(database: Database, http: httpx.Client) -> None:
    assert http.get("/v1/conversations").json() == {
        "object": "list",
        "data": [],
        "has_more": False,
        "last_id": None,
    }
    number = add(database, "Leave")
    (listed,) = http.get("/v1/conversations").json()["data"]
    made, updated = listed.pop("created_at"), listed.pop("updated_at")
    assert listed == {
        "object": "conversation",
        "id": str(number),
        "title": "Leave",
        "collection": "default",
        "turns": 1,
    }
    whole = http.get(f"/v1/conversations/{number}").json()
    (turn,) = whole.pop("turns")
    assert (whole["created_at"], whole["updated_at"]) == (made, updated)
    turn.pop("created_at")
    assert turn == {
        "id": f"{number}/1",
        "ordinal": 1,
        "question": "And how long?",
        "query": "How long is the leave?",
        "answer": "25 days [1].",
        "refused": False,
        "reason": "",
        "citations": [
            {
                "n": 1,
                "document": 7,
                "version": 4,
                "uri": "h.md",
                "title": "Handbook",
                "headings": ["Leave"],
                "page": 2,
                "start": 10,
                "end": 20,
                "quote": "25 days",
                "score": None,
                "verdict": "verified",
            }
        ],
        "claims": [{"start": 0, "end": 12, "cites": [1], "support": "supported"}],
        "unverified": ["31"],
    }


def test_pages_go_on_when_the_last_one_seen_moves_or_goes(
    database: Database, http: httpx.Client
) -> None:
    numbers = [str(add(database, str(n))) for n in range(4)][::-1]
    first = http.get("/v1/conversations", params={"limit": 2}).json()
    assert [one["id"] for one in first["data"]] == numbers[:2]
    assert first["has_more"] is True
    http.delete(f"/v1/conversations/{numbers[1]}")
    after = {"limit": 2, "after": first["last_id"]}
    rest = http.get("/v1/conversations", params=after).json()
    assert [one["id"] for one in rest["data"]] == numbers[2:]
    assert rest["has_more"] is False


@pytest.mark.parametrize(
    "after", ["x", "1_x", f"{'9' * 18}_{UUID(int=1)}", f"1_{'-' * 36}", "١_" + str(UUID(int=1))]
)
def test_a_place_that_no_page_named_is_refused(http: httpx.Client, after: str) -> None:
    status, message, param = error(http.get("/v1/conversations", params={"after": after}))
    assert (status, param) == (400, "after")
    assert message == "after: not a page's `last_id`: leave it out to begin"


def test_rename_and_delete(database: Database, http: httpx.Client) -> None:
    number = add(database, "before")
    path = f"/v1/conversations/{number}"
    assert http.patch(path, json={"title": " 年假  2026 "}).json()["title"] == "年假 2026"
    for body in ({"title": ""}, {"title": "x" * 201}, {"title": 1}, {}, {"title": "x", "y": 1}):
        assert http.patch(path, json=body).status_code == 400
    assert error(http.patch(path, json={"title": "  "}))[0] == 400
    assert http.delete(path).json() == {
        "object": "conversation",
        "id": str(number),
        "deleted": True,
    }
    for response in (http.get(path), http.delete(path), http.patch(path, json={"title": "x"})):
        assert error(response)[:2] == (
            404,
            f"there is no conversation '{number}': `ragkit conversations list` shows yours",
        )
    assert http.get("/v1/conversations/not-an-id").status_code == 400


def test_export(database: Database, http: httpx.Client) -> None:
    number = add(database, "Leave <b>")
    whole = http.get(f"/v1/conversations/{number}/export")
    assert whole.headers["content-type"] == "application/json"
    assert whole.headers["content-disposition"] == (
        f'attachment; filename="conversation-{number}.json"'
    )
    assert json.loads(whole.content)["turns"][0]["claims"][0]["text"] == "25 days [1]."
    text = http.get(f"/v1/conversations/{number}/export", params={"format": "markdown"})
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert text.text.startswith("# Leave \\<b\\>\n")
    assert http.get(f"/v1/conversations/{number}/export?format=pdf").status_code == 400
    assert http.get(f"/v1/conversations/{uuid4()}/export").status_code == 404


def test_what_a_key_may_not_see_is_not_there(
    database: Database, serve: Serve, key: Callable[..., str]
) -> None:
    about_manuals = add(database, "pump", "ann", "manuals")
    about_default = add(database, "leave", "ann")
    of_bob = add(database, "bob", "bob")
    secret = key("read", principal="ann", collections=["manuals"], tenant="default")
    foreign = key("read", principal="ann", tenant="other")
    with serve() as live, httpx.Client(base_url=live.url) as http:
        assert http.get("/v1/conversations").status_code == 401
        http.headers["authorization"] = f"Bearer {secret}"
        found: Any = http.get("/v1/conversations").json()["data"]
        assert [one["id"] for one in found] == [str(about_manuals)]
        for number in (about_default, of_bob):
            path = f"/v1/conversations/{number}"
            responses = (
                http.get(path),
                http.get(f"{path}/export"),
                http.patch(path, json={"title": "x"}),
                http.delete(path),
            )
            assert {response.status_code for response in responses} == {404}
        http.headers["authorization"] = f"Bearer {foreign}"
        assert http.get("/v1/conversations").json()["data"] == []
        assert http.delete(f"/v1/conversations/{about_manuals}").status_code == 404
    titles = [one.title for one in Conversations(database.pool, "default", "ann").all()]
    assert titles == ["leave", "pump"]


def chat(http: httpx.Client, question: str, **options: Any) -> httpx.Response:
    beside = {name: options.pop(name) for name in ("n", "stream", "tools") if name in options}
    body = {"model": "ragkit", "messages": [{"role": "user", "content": question}]} | beside
    return http.post("/v1/chat/completions", json=body | {"ragkit": options})


def test_an_answer_is_replaced_and_its_rating_stays_what_it_was(http: httpx.Client) -> None:
    first = chat(http, "When do days of holiday lapse?", conversation="new").json()
    number = first["choices"][0]["message"]["context"]["conversation"]
    chat(http, "Who flew the Otter first?", conversation=number)
    rated = {"answer_id": f"{number}/2", "rating": "down", "comment": "wrong"}
    assert http.post("/v1/feedback", json=rated).status_code == 200
    edited = "How many days of paid holiday are there?"
    answer = chat(http, edited, conversation=number, replace_last=True)
    assert answer.status_code == 200
    assert "28 days of paid holiday" in answer.json()["choices"][0]["message"]["content"]
    turns = http.get(f"/v1/conversations/{number}").json()["turns"]
    assert [(turn["id"], turn["question"]) for turn in turns] == [
        (f"{number}/1", "When do days of holiday lapse?"),
        (f"{number}/3", edited),
    ]
    (listed,) = http.get("/v1/conversations").json()["data"]
    assert listed["turns"] == 2
    streamed = chat(http, edited, conversation=number, replace_last=True, stream=True)
    assert streamed.text.endswith("data: [DONE]\n\n")
    turns = http.get(f"/v1/conversations/{number}").json()["turns"]
    assert [turn["ordinal"] for turn in turns] == [1, 4]
    exported = http.get(f"/v1/conversations/{number}/export?format=markdown").text
    assert f"\n## 2. {edited}\n" in exported, "people count the questions that there are"
    (rating,) = http.get("/v1/feedback").json()["data"]
    assert (rating["answer_id"], rating["question"]) == (f"{number}/2", "Who flew the Otter first?")
    gone = http.post("/v1/feedback", json=rated | {"answer_id": f"{number}/3"})
    assert gone.status_code == 404


def test_what_cannot_be_replaced_is_refused(database: Database, http: httpx.Client) -> None:
    number = str(add(database, "Leave"))
    for options, said in (
        ({}, "give its id in ragkit.conversation"),
        ({"conversation": "new"}, "give its id in ragkit.conversation"),
        ({"conversation": "new", "n": 1}, "give its id in ragkit.conversation"),
        ({"conversation": number, "tools": [{"type": "function"}]}, "means nothing with tools"),
    ):
        response = chat(http, "How long?", replace_last=True, **options)
        status, message, param = error(response)
        assert (status, param) == (400, "ragkit.replace_last")
        assert said in message
    for options in ({"conversation": number}, {"conversation": "new", "stream": True}):
        response = chat(http, "How long?", n=2, **options)
        assert error(response) == (
            400,
            "n: a conversation goes on with one answer: leave n out",
            "n",
        )
    assert chat(http, "How long?", conversation=number, replace_last="x").status_code == 400
    gone = chat(http, "How long?", conversation=str(uuid4()), replace_last=True)
    assert gone.status_code == 404
    assert len(http.get(f"/v1/conversations/{number}").json()["turns"]) == 1
