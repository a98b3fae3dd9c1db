"""What tests of the HTTP API share: a real database with documents, and the real app on a port."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit import Settings, keys
from ragkit.contracts import Embedder
from ragkit.embed.local import LocalEmbedder
from ragkit.library import Library
from ragkit.store.open import Database, open_database
from ragkit.testing.corpus import CORPUS, fill, new_document
from ragkit_serve.api.app import create_app
from ragkit_serve.services import Services
from ragkit_serve.web import DrainingServer

SECRET = new_document("secret.md", "The vault of the other tenant opens with 4711.", title="Vault")
MANUAL = new_document("manual.md", "The pump runs at 900 revolutions a minute.", title="Pump")


@pytest.fixture(scope="session")
def loaded_embedder() -> Embedder:
    embedder = LocalEmbedder("all-MiniLM-L6-v2")
    embedder.load()
    return embedder


@pytest.fixture
def database(fresh_database: str, loaded_embedder: Embedder) -> Iterator[Database]:
    """Tenant default with the collections default and manuals, and another tenant with a secret."""
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        fill(database.store("default"), loaded_embedder, CORPUS)
        fill(database.store("default"), loaded_embedder, [MANUAL], collection="manuals")
        fill(database.store("other"), loaded_embedder, [SECRET])
        yield database


@dataclass
class Live:
    """A server that answers; `server` and `app` are its parts."""

    url: str
    app: Any
    server: DrainingServer
    thread: threading.Thread = field(repr=False)

    @property
    def base(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"{self.url}/v1"


Serve = Callable[..., Any]


@pytest.fixture
def serve(database: Database, fresh_database: str, loaded_embedder: Embedder) -> Serve:
    """Run the app for a while: `with serve(llm_url=...) as live`."""

    @contextmanager
    def serving(*, ui: bool = False, **settings: Any) -> Iterator[Live]:
        chosen = Settings(database_url=SecretStr(fresh_database), **settings)
        library = Library(chosen, database)
        library.embedder = library.embedders.default = loaded_embedder
        app = create_app(Services(chosen, database, library), ui=ui)
        with running(app, chosen.serve_grace_s) as live:
            yield live

    return serving


@contextmanager
def running(app: Any, grace_s: float = 5.0) -> Iterator[Live]:
    """Serve an app on a loopback port in a thread, and end it."""
    server = DrainingServer(app, grace_s)
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started
    try:
        yield Live(url, app, server, thread)
    finally:
        server.should_exit = True
        thread.join(15)
        assert not thread.is_alive()
        listening.close()


@pytest.fixture
def key(database: Database) -> Callable[..., str]:
    """Make a key: `key("read", "write", collections=[...])`."""

    def make(*scopes: str, **options: Any) -> str:
        return keys.create(database, name="test", scopes=scopes or ("read",), **options).secret

    return make
