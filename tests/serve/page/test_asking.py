"""Questions from the chat page: asked anew in the place of the last one that the page has shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from ragkit import Settings
from ragkit.access import keys
from ragkit.access.library import Caller, Library
from ragkit_serve import StubServer
from ragkit_serve.api.app import create_app
from ragkit_serve.api.services import Services
from ragkit_serve.page.words import WORDS
from tests.serve.api.conftest import Live, running

HOLIDAY = "How many days of paid holiday are there?"
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def live(services: Services) -> Iterator[Live]:
    with running(create_app(services, ui=True)) as live:
        yield live


@pytest.fixture
def ask(live: Live, services: Services, caller: Caller) -> Ask:
    """Ask as the page does; return the last event."""
    made = keys.create(services.database, name="test", scopes=("read",), principal=caller.principal)
    headers = {"authorization": f"Bearer {made.secret}", "accept-language": "zh-CN"}

    def asking(question: str, **beside: Any) -> Any:
        asked = {"question": question} | beside
        answer = httpx.post(f"{live.url}/ui/ask", json=asked, headers=headers, timeout=60)
        assert answer.status_code == 200
        events = [line for line in answer.text.splitlines() if line.startswith("data: {")]
        return json.loads(events[-1].removeprefix("data: "))

    return asking


def test_an_answer_takes_the_place_of_the_last(
    ask: Ask, services: Services, caller: Caller
) -> None:
    number = ask("How many days of holliday?")["conversation"]
    ask("And who flew the Otter?", conversation=number)
    told = ask(HOLIDAY, conversation=number, replaces=2)
    assert told["conversation"] == number
    assert f'data-answer="{number}/3"' in told["html"]
    conversations = services.library.conversations(caller)
    (stored,) = conversations.all()
    turns = [(turn.ordinal, turn.question) for turn in conversations.turns(stored.id)]
    assert turns == [(1, "How many days of holliday?"), (3, HOLIDAY)]


def test_what_the_page_has_not_shown_is_not_replaced(
    ask: Ask, services: Services, caller: Caller
) -> None:
    number = ask(HOLIDAY)["conversation"]
    ask("And who flew the Otter?", conversation=number)
    for question, beside in ((HOLIDAY, {"conversation": number}), (HOLIDAY, {})):
        error = ask(question, replaces=1, **beside)["error"]
        assert (error["code"], error["message"]) == ("moved_on", WORDS["zh"]["error_moved_on"])
    conversations = services.library.conversations(caller)
    (stored,) = conversations.all()
    assert [turn.ordinal for turn in conversations.turns(stored.id)] == [1, 2]


def test_only_a_model_that_the_server_offers_is_asked(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragkit.model.choice._lists", {})
    with StubServer(models=["a", "bge-m3", "b"]) as stub:
        free = services.settings.model_copy(update={"llm_url": stub.url})
        fixed = free.model_copy(update={"llm_model": "a"})
        assert asked_models(services, free) == (["a", "b"], ["model_not_found"] * 2 + ["", ""])
        assert [chat.body["model"] for chat in stub.chats] == ["b", "a"]
        assert asked_models(services, fixed) == ([], ["model_not_found"] * 3 + [""])
        assert [chat.body["model"] for chat in stub.chats] == ["b", "a", "a"]


def asked_models(services: Services, settings: Settings) -> tuple[list[str], list[str]]:
    """Return the models that the page offers, and the error with each model; None the last."""
    library = Library(settings, services.database)
    library.embedder = library.embedders.default = services.library.embedder
    key = keys.create(services.database, name="test", scopes=("read",), principal="ann")
    headers = {"authorization": f"Bearer {key.secret}"}
    errors = []
    with running(create_app(Services(settings, services.database, library), ui=True)) as live:
        offered = httpx.get(f"{live.url}/ui/models", headers=headers).json()["models"]
        for model in ("bge-m3", "c", "b", None):
            asked = {"question": HOLIDAY, "model": model}
            answer = httpx.post(f"{live.url}/ui/ask", json=asked, headers=headers, timeout=60).text
            errors.append("model_not_found" if '"model_not_found"' in answer else "")
    return offered, errors
