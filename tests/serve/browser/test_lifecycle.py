"""The chat page while its server restarts, its database goes away, and several processes answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access import keys
from ragkit.access.library import Library
from ragkit.contracts import Embedder
from ragkit.store.open import Database, open_database
from ragkit.testing.corpus import CORPUS, fill
from ragkit.testing.stub_server.server import Fault, Reply
from ragkit_serve import StubServer
from ragkit_serve.api.services import Services
from ragkit_serve.page.words import WORDS
from tests.serve.browser.conftest import ready, serving, started
from tests.serve.browser.test_page import answered, ask, shows, state_of, tab, until
from tests.serve.web.test_supervise import program

pytestmark = pytest.mark.browser
EN, ZH = WORDS["en"], WORDS["zh"]
HOLIDAY = "How many days of paid holiday does an employee have?"
ABOUT_HOLIDAY = "Every employee has 28 days of paid holiday [1]."


class Model:
    """A scripted model server; `says` is what it answers."""

    def __init__(self) -> None:
        self.says: Callable[[Any], str | Reply | Fault] = lambda _: ABOUT_HOLIDAY

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> str | Reply | Fault:
        return self.says(messages)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def stub(model: Model) -> Iterator[StubServer]:
    with StubServer(model) as stub:
        yield stub


@pytest.fixture
def filled(fresh_database: str, loaded_embedder: Embedder) -> Iterator[Database]:
    """A database of one's own with a few documents."""
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        fill(database.store("default"), loaded_embedder, CORPUS)
        yield database


@pytest.fixture
def services(
    filled: Database,
    stub: StubServer,
    fresh_database: str,
    loaded_embedder: Embedder,
    tmp_path: Path,
) -> Services:
    settings = Settings(
        database_url=SecretStr(fresh_database),
        home=tmp_path,
        llm_url=stub.url,
        llm_model="stub",
        serve_grace_s=0.5,
    )
    library = Library(settings, filled)
    library.embedder = library.embedders.default = loaded_embedder
    return Services(settings, filled, library)


def up(url: str) -> str:
    """Wait until the page is there; return its address."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/readyz", timeout=60).is_success:
                return url
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"{url} never became ready")


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_a_restart_in_the_middle_of_an_answer_is_said_and_got_over(
    visit: Callable[..., Any], services: Services, model: Model, locale: str
) -> None:
    words = WORDS["zh" if locale == "zh-CN" else "en"]
    first = started(services)
    page = visit(first.url, locale=locale)
    ready(page)
    ask(page, HOLIDAY)
    answered(page)
    slow = Reply("One word after the other. " * 200, delay_s=0.05)
    model.says = lambda _: slow  # the question stands alone: the model is asked for the answer only
    ask(page, HOLIDAY)
    until(page, "[...document.querySelectorAll('.rk-text')].at(-1).innerText.includes('One')")
    first.end()
    page.wait_for_selector(".rk-failed")
    assert page.inner_text(".rk-failed") == words["failed"].format(reason=words["error_draining"])
    assert "One word after" in page.inner_text(".rk-incomplete .rk-text")
    assert page.inner_text(".rk-incomplete .rk-note") == words["incomplete"]
    assert page.input_value("#rk-question textarea") == HOLIDAY
    page.click("#rk-send")
    until(page, "document.querySelectorAll('.rk-failed').length === 2")
    assert page.locator(".rk-failed").last.inner_text() == words["failed"].format(
        reason=words["no_server"]
    )
    tab(page, 1)
    shows(page, "#rk-documents .rk-failed", words["failed"].format(reason=words["no_server"]))
    tab(page, 0)
    model.says = lambda _: ABOUT_HOLIDAY
    with serving(services, port=int(first.url.rpartition(":")[2])) as url:
        assert url == first.url
        page.click("#rk-send")
        assert "28 days" in answered(page, 2).locator(".rk-text").inner_text()
        assert page.locator("#rk-conversations .rk-open").count() == 1, "it went on where it was"
        tab(page, 1)
        until(page, "!document.querySelector('#rk-documents .rk-failed')")
        shows(page, "#rk-documents", "Wings")


class Outage:
    """A database that lets nobody in for a while."""

    def __init__(self, admin: str, url: str) -> None:
        self._admin = admin
        self._name = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])

    def __enter__(self) -> None:
        self._allow(False)
        with psycopg.connect(self._admin, autocommit=True) as conn:
            conn.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (self._name,),
            )

    def __exit__(self, *exception: object) -> None:
        self._allow(True)

    def _allow(self, allowed: bool) -> None:
        with psycopg.connect(self._admin, autocommit=True) as conn:
            conn.execute(
                sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(
                    sql.Identifier(self._name), sql.Literal(allowed)
                )
            )


@pytest.fixture
def own_site(services: Services) -> Iterator[str]:
    """The address of a site over the database of one's own, which is given up on after a second."""
    services.database.pool.timeout = 1.0
    with serving(services) as address:
        yield address


def test_a_lost_database_is_said_and_got_over(
    visit: Callable[..., Any], own_site: str, database_url: str, fresh_database: str
) -> None:
    pages = [visit(own_site, locale="en-GB"), visit(own_site, locale="zh-CN")]
    for page in pages:
        ready(page)
        ask(page, HOLIDAY)
        answered(page)
    with Outage(database_url, fresh_database):
        for page, words in zip(pages, (EN, ZH), strict=True):
            ask(page, HOLIDAY)
            page.wait_for_selector(".rk-failed")
            assert page.inner_text(".rk-failed") == words["failed"].format(
                reason=words["error_database"]
            )
            assert page.input_value("#rk-question textarea") == HOLIDAY
            assert page.locator("#rk-send").is_visible()
            tab(page, 1)
            shows(page, "#rk-documents .rk-failed", words["error_database"])
            tab(page, 0)
    up(own_site)
    for page in pages:
        page.click("#rk-send")
        assert "28 days" in answered(page, 2).locator(".rk-text").inner_text()
        tab(page, 1)
        until(page, "!document.querySelector('#rk-documents .rk-failed')")
        shows(page, "#rk-documents", "Wings")


def test_an_answer_waits_for_a_database_that_is_soon_back(
    visit: Callable[..., Any],
    own_site: str,
    filled: Database,
    database_url: str,
    fresh_database: str,
) -> None:
    filled.pool.timeout = 60.0
    page = visit(own_site)
    ready(page)
    with Outage(database_url, fresh_database):
        ask(page, HOLIDAY)
        page.wait_for_selector(".rk-working")
        failures = filled.pool.get_stats().get("connections_errors", 0)
        while filled.pool.get_stats().get("connections_errors", 0) == failures:
            page.wait_for_timeout(20)
        assert page.locator(".rk-failed").count() == 0
    assert "28 days" in answered(page).locator(".rk-text").inner_text()


def test_the_page_does_not_care_which_process_answers(
    visit: Callable[..., Any],
    filled: Database,
    fresh_database: str,
    stub: StubServer,
    model: Model,
    tmp_path: Path,
) -> None:
    key = keys.create(filled, name="ann", principal="ann", scopes=("read", "write"))
    file = tmp_path / "harbour.md"
    file.write_text("# Harbour\n\nThe harbour crane lifts at most 42 tonnes in calm weather.\n")
    settings = {"HOME": str(tmp_path), "LLM_URL": stub.url, "LLM_MODEL": "stub"}
    variables = {f"RAGKIT_{name}": value for name, value in settings.items()}
    with program(fresh_database, tmp_path, "--workers", "2", **variables) as server:
        url = up(server.url())
        answering = len(server.children()) - 1  # one is the ingestion worker
        assert answering == 2
        page = visit(url)
        page.fill("#key", key.secret)
        page.click("button")
        ready(page)
        token = {one["name"]: one["value"] for one in page.context.cookies()}
        known = set()
        for _ in range(40):  # each on a connection of its own, which either may take
            answer = httpx.get(f"{url}/ui/me", cookies=token, timeout=30)
            known.add((answer.status_code, answer.json()["principal"]))
        assert known == {(200, "ann")}
        for _ in range(10):  # each process has the page
            whole = httpx.get(f"{url}/", cookies=token, timeout=60)
            assert (whole.status_code, "gradio" in whole.text) == (200, True)
        for n in range(1, 5):
            ask(page, HOLIDAY)
            assert "28 days" in answered(page, n).locator(".rk-text").inner_text()
        page.locator(".rk-cite").last.click()
        page.wait_for_selector("#rk-panel .rk-span")
        assert "28 days" in page.inner_text("#rk-panel .rk-passage")
        page.click("#rk-close")
        tab(page, 1)
        page.locator("#rk-upload input[type=file]").set_input_files([file])
        until(page, state_of("harbour.md", EN["state_done"]))
        page.get_by_role("button", name="Harbour", exact=True).click()
        shows(page, "#rk-document-text", "42 tonnes")
        tab(page, 0)
        model.says = lambda messages: f"Shown: {'42 tonnes' in str(messages[-1]['content'])}."
        for _ in range(4):
            page.click("#rk-new")
            ask(page, "How many tonnes does the harbour crane lift?")
            assert "Shown: True." in answered(page).locator(".rk-text").inner_text()
        page.reload()
        ready(page)
        page.click("#rk-conversations .rk-open >> nth=-1")
        answered(page, 4)
