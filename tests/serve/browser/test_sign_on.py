"""Single sign-on in a real browser: away to the provider, back, asked, out; and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access.library import Library
from ragkit.contracts import Embedder
from ragkit.store.open import open_database
from ragkit.testing.corpus import CORPUS, fill
from ragkit.testing.stub_server.server import StubServer
from ragkit_serve.api.services import Services
from tests.serve.api.test_login import Provider, provider, settings
from tests.serve.browser.conftest import ready, serving
from tests.serve.browser.test_page import answered, ask, shows, tab

pytestmark = pytest.mark.browser


@pytest.fixture
def told() -> Iterator[Provider]:
    """A provider at another site, as a browser sees it."""
    with provider() as told:
        told.issuer = told.issuer.replace("127.0.0.1", "localhost")
        yield told


@pytest.fixture
def guarded(
    fresh_database: str, loaded_embedder: Embedder, told: Provider, tmp_path: Path
) -> Iterator[str]:
    """The address of a site with a few documents where people get in by single sign-on."""
    with StubServer(lambda _: "Every employee has **28 days** of paid holiday [1].") as stub:
        mine = Settings(
            database_url=SecretStr(fresh_database),
            home=tmp_path,
            llm_url=stub.url,
            llm_model="stub",
            **settings(told),
        )
        with open_database(mine) as database:
            fill(database.store("default"), loaded_embedder, CORPUS)
            library = Library(mine, database)
            library.embedder = library.embedders.default = loaded_embedder
            with serving(Services(mine, database, library)) as address:
                yield address


def test_one_signs_on_asks_and_logs_out(
    visit: Callable[..., Any], told: Provider, guarded: str
) -> None:
    page = visit(guarded)
    page.wait_for_url("**/login?next=**")
    page.click("a.button")
    ready(page)
    assert page.url == f"{guarded}/"
    assert page.inner_text("#rk-out") == "Log out (person-7)"
    ask(page, "How many days of paid holiday does an employee have?")
    assert "28 days" in answered(page).locator(".rk-text").inner_text()
    page.wait_for_selector("#rk-conversations .rk-open")
    tab(page, 1)
    shows(page, "#rk-documents", "Wings")
    assert page.locator("#rk-upload").count() == 0, "single sign-on lets people read"
    page.click("#rk-out")
    page.wait_for_url("**/login?next=**")
    page.goto(guarded)
    page.wait_for_url("**/login?next=**")


@pytest.mark.parametrize(
    ("locale", "failed", "sign_on"),
    [
        (
            "en-GB",
            "The log-in with your organisation's account failed. Try again.",
            "Log in with your organisation's account",
        ),
        ("zh-CN", "组织账号登录失败，请重试。", "使用组织账号登录"),
    ],
)
def test_a_failed_sign_on_is_one_line_with_a_way_back(
    visit: Callable[..., Any], told: Provider, guarded: str, locale: str, failed: str, sign_on: str
) -> None:
    told.error = "access_denied"
    page = visit(guarded, locale=locale)
    page.wait_for_url("**/login?next=**")
    page.click("a.button")
    page.wait_for_selector("[role=alert]")
    assert page.inner_text("[role=alert]") == failed
    assert page.inner_text("a.button") == sign_on
    told.error = ""
    page.click("a.button")
    ready(page)
    assert page.url == f"{guarded}/"


def test_a_provider_that_is_gone_is_one_line_with_a_way_back(
    visit: Callable[..., Any], told: Provider, guarded: str
) -> None:
    there = told.issuer
    page = visit(guarded)
    told.issuer = "http://localhost:1"  # it goes by another name than it is set up with
    page.click("a.button")
    page.wait_for_selector("[role=alert]")
    said = page.inner_text("[role=alert]")
    assert said == "Your organisation's log-in cannot be reached. Try again later, or use a key."
    told.issuer = there
    page.click("a.button")
    ready(page)
