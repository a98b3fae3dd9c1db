"""A whole site for a real browser: the app on a port, an ingestion worker, a scripted model.

It is skipped, visibly, where there is no Chromium. Screenshots are written when
RAGKIT_SCREENSHOTS names a folder.
"""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access.library import Caller, Library
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJobs
from ragkit.store.open import Database, open_database
from ragkit.testing.stub_server.server import Fault, Reply, quote_first_source
from ragkit_serve import StubServer
from ragkit_serve.api.app import create_app
from ragkit_serve.api.services import Services
from ragkit_serve.web.web import DrainingServer
from tests.databases import Databases
from tests.places import ROOT

HANDBOOK = ROOT / "examples" / "handbook"
SENT = {
    "leave.md": "en/leave.md",
    "welcome.md": "en/welcome.md",
    "warranty.html": "en/warranty.html",
    "travel-and-expenses.md": "en/travel-and-expenses.md",
    "rl-400-manual.pdf": "rl-400-manual.pdf",
    "休假制度.md": "zh/leave.md",
}
WAIT_S = 120
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
Says = Callable[[Sequence[Mapping[str, Any]]], str | Reply | Fault]


@dataclass
class Site:
    """A running site; `says` is what its model answers."""

    url: str
    stub: StubServer
    services: Services
    says: Says = field(default=quote_first_source)

    def caller(self) -> Caller:
        return Caller("default", "default", scopes=("read", "write", "admin"))


@pytest.fixture(scope="session")
def url(database_url: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        yield database_url.replace("/postgres?", f"/{name}?")
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def working(url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run an ingestion worker in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAGKIT_")}
    worker = subprocess.Popen(
        [sys.executable, "-m", "ragkit", "worker"], env=kept | {"RAGKIT_DATABASE_URL": url}
    )
    try:
        yield worker
    finally:
        worker.terminate()
        worker.wait(60)


@pytest.fixture(scope="session")
def database(url: str) -> Iterator[Database]:
    """The handbook, taken in by a worker of its own process, which goes on for what comes later."""
    with (
        open_database(Settings(database_url=SecretStr(url))) as database,
        working(url) as worker,
    ):
        database.store("default").create_collection("default")
        files = [
            Upload(name, io.BytesIO((HANDBOOK / path).read_bytes())) for name, path in SENT.items()
        ]
        jobs = Sources(database.pool, "default").keep("default", files, principal="test")
        deadline = time.monotonic() + WAIT_S
        states = {"queued"}
        while states - {"done"} and time.monotonic() < deadline:
            assert worker.poll() is None, "the worker has ended"
            states = {job.state for job in UploadJobs(database.pool, "default").some(jobs)}
            time.sleep(0.02)
        assert states == {"done"}
        yield database


@dataclass
class Serving:
    """The whole app, served in a thread."""

    url: str
    server: DrainingServer
    thread: threading.Thread
    listening: socket.socket

    def end(self) -> None:
        """Do as a process does on SIGTERM: drain, then hang up."""
        self.server.handle_exit(signal.SIGTERM, None)
        self.wait()

    def wait(self) -> None:
        self.thread.join(60)
        assert not self.thread.is_alive()
        self.listening.close()


def started(services: Services, *, port: int = 0) -> Serving:
    """Serve the whole app on a port."""
    server = DrainingServer(create_app(services, ui=True), services.settings.serve_grace_s)
    listening = socket.create_server(("127.0.0.1", port))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    return Serving(url, server, thread, listening)


@contextmanager
def serving(services: Services, *, port: int = 0) -> Iterator[str]:
    """Serve the whole app on a port; yield its address."""
    live = started(services, port=port)
    yield live.url
    live.server.should_exit = live.server.force_exit = True  # whatever pages still listen to
    live.wait()


@pytest.fixture(scope="session")
def running(
    url: str, database: Database, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    def says(messages: Sequence[Mapping[str, Any]]) -> str | Reply | Fault:
        return running_site.says(messages)

    with StubServer(says) as stub:
        settings = Settings(
            database_url=SecretStr(url),
            home=tmp_path_factory.mktemp("home"),
            llm_url=stub.url,
            llm_model="stub",
            llm_timeout_s=10,
        )
        services = Services(settings, database, Library(settings, database))
        with serving(services) as address:
            running_site = Site(address, stub, services)
            yield running_site


@pytest.fixture
def guarded(running: Site) -> Iterator[str]:
    """The address of the same site where nobody gets in without a key."""
    with serving(guarded_by_keys(running.services)) as address:
        yield address


def guarded_by_keys(services: Services) -> Services:
    settings = services.settings.model_copy(update={"serve_auth": "keys"})
    return Services(settings, services.database, Library(settings, services.database))


@pytest.fixture
def empty(databases: Databases, tmp_path: Path) -> Iterator[Services]:
    """A database in which nothing is, and a worker that takes in what comes."""
    with databases.take() as url, working(url):
        settings = Settings(database_url=SecretStr(url), home=tmp_path)
        with open_database(settings) as database:
            yield Services(settings, database, Library(settings, database))


def age_conversations(services: Services, days: Sequence[int]) -> None:
    """Make the oldest conversations so many days old."""
    with services.database.pool.connection() as conn:
        numbers = conn.execute("SELECT id FROM conversation ORDER BY updated_at").fetchall()
        for (number,), age in zip(numbers, days, strict=False):
            conn.execute(
                "UPDATE conversation SET updated_at = now() - make_interval(days => %s)"
                " WHERE id = %s",
                (age, number),
            )


@pytest.fixture
def site(running: Site) -> Site:
    """The site with its model answering by quoting, and with no conversation yet."""
    running.says = quote_first_source
    running.services.library.conversations(running.caller()).delete_all()
    return running


WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
Open = Callable[..., Any]


@pytest.fixture
def visit(browser: Any) -> Iterator[Open]:
    """Go to an address in a browser of one's own: `visit(url, locale="zh-CN")`. At the end no

    policy may have been violated on the last page, and no script failed on any.
    """
    pages: list[Any] = []
    wrong: list[str] = []

    def visited(url: str, **options: Any) -> Any:
        options.setdefault("viewport", {"width": 1280, "height": 800})
        context = browser.new_context(**options)
        context.add_init_script(WATCH)
        page = context.new_page()
        pages.append(page)
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(url)
        return page

    yield visited
    violations = [one for page in pages for one in page.evaluate("window.violations")]
    for page in pages:
        page.context.close()
    assert violations == []
    assert wrong == []


def ready(page: Any) -> None:
    """Wait until the page can be asked."""
    page.wait_for_selector("body.rk-ready")


@pytest.fixture
def open_page(browser: Any, site: Site) -> Iterator[Open]:
    """Open the page: `open_page(locale="zh-CN", ...)`. At the end nothing may have gone elsewhere,

    no policy may have been violated, no script failed, and no dialog come that was not expected.
    """
    contexts: list[Any] = []
    asked: list[str] = []
    wrong: list[str] = []

    def opened(**options: Any) -> Any:
        options.setdefault("viewport", {"width": 1280, "height": 800})
        context = browser.new_context(**options)
        contexts.append(context)
        context.add_init_script(WATCH)
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console",
            lambda said: (
                wrong.append(said.text)
                if said.type == "error" and "the server responded with a status" not in said.text
                else None
            ),
        )
        page.goto(site.url)
        ready(page)
        return page

    yield opened
    violations = [
        violation
        for context in contexts
        for page in context.pages
        for violation in page.evaluate("window.violations")
    ]
    for context in contexts:
        context.close()
    assert violations == []
    assert wrong == []
    elsewhere = {one for one in asked if urlsplit(one).scheme not in {"data", "blob"}}
    assert {f"{urlsplit(one).scheme}://{urlsplit(one).netloc}" for one in elsewhere} == {site.url}


@pytest.fixture
def screenshot() -> Callable[[Any, str], None]:
    """Write a picture for the documentation, when they are wanted."""
    folder = os.environ.get("RAGKIT_SCREENSHOTS")

    def taken(page: Any, name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.evaluate("document.fonts.ready")
            page.screenshot(path=str(Path(folder) / f"{name}.png"))

    return taken
