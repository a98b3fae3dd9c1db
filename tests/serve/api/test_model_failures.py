"""A model server that fails: API clients learn what to do, its owner where and why."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import httpx
import pytest

from ragkit.testing.stub_server.server import Fault
from tests.serve.api.conftest import Live, Scripted, Serve

QUESTION = "How many days of paid holiday does an employee have?"
SECRET = "wombat-canary"
REQUEST = "request-7"
CHAT = {"model": "ragkit", "messages": [{"role": "user", "content": QUESTION}]}
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
# Every way in which a client's request reaches the model.
WAYS: dict[str, dict[str, Any]] = {
    "whole": CHAT,
    "stream": CHAT | {"stream": True},
    "forwarded": CHAT | {"model": "stub"},
    "forwarded-stream": CHAT | {"model": "stub", "stream": True},
    "tools": CHAT | {"tools": [TOOL]},
    "tools-stream": CHAT | {"tools": [TOOL], "stream": True},
}


def ask(live: Live, body: dict[str, Any]) -> httpx.Response:
    headers = {"x-request-id": REQUEST}
    return httpx.post(f"{live.base}/chat/completions", json=body, headers=headers, timeout=60)


def last_error(answer: httpx.Response) -> dict[str, Any]:
    """Return the error of an answer, or of a stream's last event."""
    error = json.loads(answer.text.rstrip().rpartition("data: ")[2])["error"]
    assert isinstance(error, dict)
    return error


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("way", WAYS)
def test_a_busy_model_keeps_its_status_and_its_time(
    serve: Serve, scripted: Scripted, way: str, status: int
) -> None:
    """The time is longer than the server itself would wait."""
    stub = scripted(lambda messages: Fault(status=status, message=SECRET, retry_after_s=33))
    with serve(llm_url=stub.url, llm_model="stub") as live:
        answer = ask(live, WAYS[way])
    assert (answer.status_code, answer.headers["retry-after"]) == (status, "33")
    assert last_error(answer)["code"] == "model_server_full"
    assert "33 s" in last_error(answer)["message"]
    assert SECRET not in answer.text
    assert stub.url not in answer.text


def test_a_busy_model_without_a_time_gets_one(serve: Serve, scripted: Scripted) -> None:
    stub = scripted(lambda messages: Fault(status=429))
    with serve(llm_url=stub.url, llm_model="stub") as live:
        answer = ask(live, WAYS["forwarded"])
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")


FAULTS = {
    "denied": Fault(status=401, message=SECRET),
    "no path": Fault(status=404, message=SECRET),
    "breaks": Fault(cut="error", text="Half of it", message=SECRET),
    "strange": Fault(malformed=True),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", WAYS)
def test_an_answer_has_neither_the_address_nor_the_words_of_the_model_server(
    serve: Serve, scripted: Scripted, way: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    stub = scripted(lambda messages: FAULTS[fault])
    with serve(llm_url=stub.url, llm_model="stub") as live:
        answer = ask(live, WAYS[way])
    error = last_error(answer)
    assert (error["code"], "the model server failed" in error["message"]) == ("model_server", True)
    assert "the server's log" in error["message"]
    place = stub.url.removeprefix("http://").removesuffix("/v1")
    for hidden in (place, SECRET, "RAGKIT_"):
        assert hidden not in answer.text
    # As words: an id can have such digits.
    assert not re.search(r"\b(?:401|404)\b", answer.text)
    logged = [record for record in caplog.records if record.name == "ragkit.serve"]
    assert [record.__dict__["fields"] for record in logged] == [{"request": REQUEST}]
    assert stub.url in logged[0].getMessage()


def test_the_page_says_no_more(serve: Serve, scripted: Scripted) -> None:
    stub = scripted(lambda messages: FAULTS["denied"])
    with serve(ui=True, llm_url=stub.url, llm_model="stub") as live:
        answer = httpx.post(f"{live.url}/ui/ask", json={"question": QUESTION}, timeout=60)
    assert last_error(answer)["code"] == "model_server"
    assert stub.url.removeprefix("http://") not in answer.text
    assert SECRET not in answer.text
