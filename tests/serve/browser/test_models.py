"""The picker of language models, where the settings name a server and no model of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ragkit.access.library import Library
from ragkit.model import choice
from ragkit.store.open import Database
from ragkit_serve import StubServer
from ragkit_serve.api.services import Services
from ragkit_serve.page.words import WORDS
from tests.serve.browser.conftest import PHONE, Site, ready, serving
from tests.serve.browser.test_page import answered, ask, no_sideways, shows, until

pytestmark = pytest.mark.browser
EN, ZH = WORDS["en"], WORDS["zh"]
MODELS = ["qwen3:4b", "nomic-embed-text:latest", "llama3.2:latest"]
QUESTION = "How long is the warranty of the RL-400?"


@contextmanager
def site_with(running: Site, database: Database, models: list[str]) -> Iterator[tuple[str, Any]]:
    """Serve the handbook with a model server that has these models; yield address and stub."""
    with StubServer(models=models) as stub:
        change = {"llm_url": stub.url, "llm_model": None}
        settings = running.services.settings.model_copy(update=change)
        with serving(Services(settings, database, Library(settings, database))) as url:
            yield url, stub


@pytest.mark.parametrize("options", [{"locale": "en-GB"}, {"locale": "zh-CN", **PHONE}])
def test_the_model_that_is_picked_answers_and_is_remembered(
    running: Site, database: Database, visit: Callable[..., Any], options: dict[str, Any]
) -> None:
    words = ZH if options["locale"] == "zh-CN" else EN
    with site_with(running, database, MODELS) as (url, stub):
        page = visit(url, **options)
        ready(page)
        picker = page.get_by_label(words["model"])
        until(page, "document.querySelectorAll('#rk-model option').length === 2")
        assert picker.locator("option").all_inner_texts() == ["qwen3:4b", "llama3.2:latest"]
        ask(page, QUESTION)
        assert answered(page).locator(".rk-source").count() > 0
        picker.focus()
        page.keyboard.press("ArrowDown")
        assert picker.input_value() == "llama3.2:latest"
        assert no_sideways(page)
        assert page.locator("#rk-answering").bounding_box()["height"] < 40, "one line"
        ask(page, QUESTION)
        answered(page, 2)
        assert {chat.body["model"] for chat in stub.chats[-1:]} == {"llama3.2:latest"}
        assert stub.chats[0].body["model"] == "qwen3:4b"
        stub.models = (*stub.models, "gemma3:4b")
        page.reload()
        ready(page)
        until(page, "document.querySelectorAll('#rk-model option').length === 3")
        assert page.get_by_label(words["model"]).input_value() == "llama3.2:latest"
        stub.models = ("gemma3:4b",)
        choice._lists.clear()  # as if two seconds had passed
        ask(page, QUESTION)
        shows(page, "#rk-turns", words["error_model_not_found"])
        page.reload()
        ready(page)
        shows(page, "#rk-answering", words["answered_by"].format(model="gemma3:4b"))
        ask(page, QUESTION)
        answered(page)
        assert stub.chats[-1].body["model"] == "gemma3:4b"


def test_a_model_server_that_is_silent_does_not_keep_the_page_waiting(
    running: Site, visit: Callable[..., Any], silent_url: str
) -> None:
    change = {"llm_url": silent_url, "llm_model": None, "llm_timeout_s": 1}
    settings = running.services.settings.model_copy(update=change)
    database = running.services.database
    with serving(Services(settings, database, Library(settings, database))) as url:
        page = visit(url)
        ready(page)
        shows(page, "#rk-answering", EN["answered_by_nobody"])


def test_a_model_server_without_a_model_is_said(
    running: Site, database: Database, visit: Callable[..., Any]
) -> None:
    with site_with(running, database, ["nomic-embed-text"]) as (url, _):
        page = visit(url, locale="zh-CN")
        ready(page)
        shows(page, "#rk-answering", ZH["answered_by_no_model"])


@pytest.fixture
def silent_url() -> Iterator[str]:
    """The address of a server that takes connections and says nothing."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
