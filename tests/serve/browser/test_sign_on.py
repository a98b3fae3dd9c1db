"""Single sign-on in a real browser: away to the provider, back, asked, out; and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit.library import Library
from ragkit_serve.services import Services
from tests.serve.api.test_login import Provider, provider, settings
from tests.serve.browser.conftest import ready, serving
from tests.serve.browser.test_page import ABOUT_LEAVE, LEAVE, answered, ask, shows, tab

pytestmark = pytest.mark.browser


@pytest.fixture
def told() -> Iterator[Provider]:
    """A provider at another site, as a browser sees it."""
    with provider() as told:
        told.issuer = told.issuer.replace("127.0.0.1", "localhost")
        yield told


@pytest.fixture
def guarded(site: Any, told: Provider) -> Iterator[str]:
    """The address of the site where people get in by single sign-on."""
    chosen = settings(told)
    chosen["oidc_client_secret"] = SecretStr(chosen["oidc_client_secret"])
    mine = site.services.settings.model_copy(update=chosen)
    database = site.services.database
    with serving(Services(mine, database, Library(mine, database))) as address:
        yield address


def test_one_signs_on_asks_and_logs_out(
    visit: Callable[..., Any], site: Any, told: Provider, guarded: str
) -> None:
    site.says = lambda _: ABOUT_LEAVE
    page = visit(guarded)
    page.wait_for_url("**/login?next=**")
    page.click("a.button")
    ready(page)
    assert page.url == f"{guarded}/"
    assert page.inner_text("#rk-out") == "Log out (person-7)"
    ask(page, LEAVE)
    assert "26 days" in answered(page).locator(".rk-text").inner_text()
    page.wait_for_selector("#rk-conversations .rk-open")
    tab(page, 1)
    shows(page, "#rk-documents", "Leave and absence (Galway)")
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
            "Your organisation's log-in failed. Try again.",
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
