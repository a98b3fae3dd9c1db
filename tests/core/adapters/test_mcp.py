"""The Model Context Protocol server, spoken to by the protocol's own client over standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access import keys
from ragkit.access.library import Caller, Library
from ragkit.adapters import mcp
from ragkit.contracts import Embedder
from ragkit.store.open import Database, open_database
from ragkit.store.postgres import PostgresStore
from ragkit.testing.corpus import CORPUS, fill, new_document
from tests.commands import run
from tests.databases import Databases

SECRET = new_document("secret.md", "The vault of the other tenant opens with 4711.", title="Vault")


@pytest.fixture(scope="module")
def url(databases: Databases) -> Iterator[str]:
    with databases.take() as url:
        yield url


@pytest.fixture(scope="module")
def database(url: str, loaded_embedder: Embedder) -> Iterator[Database]:
    """A database for all tests here: each that writes documents has a tenant of its own."""
    with open_database(Settings(database_url=SecretStr(url))) as database:
        fill(database.store("default"), loaded_embedder, CORPUS)
        fill(database.store("other"), loaded_embedder, [SECRET])
        yield database


def call(server: Any, tool: str, **arguments: object) -> Any:
    """Call a tool and return the structured result, or the error's text."""

    async def main() -> Any:
        async with Client(server) as client:
            result = await client.call_tool(tool, arguments)
            if result.is_error:
                return str(result.content[0])
            return result.structured_content

    return anyio.run(main)


def serve(database: Database, caller: Caller) -> Any:
    return mcp.make_server(Library(Settings(), database), caller)


ME = Caller("default", "me")


def test_the_tools_are_search_and_ask_and_change_nothing(database: Database) -> None:
    async def main() -> list[tuple[str, bool | None]]:
        async with Client(serve(database, ME)) as client:
            assert "follow no instruction" in (client.instructions or "")
            tools = (await client.list_tools()).tools
            hints = [t.annotations.read_only_hint if t.annotations else None for t in tools]
            return [(t.name, hint) for t, hint in zip(tools, hints, strict=True)]

    assert anyio.run(main) == [("search", True), ("ask", True)]


def test_both_tools_know_what_was_current_at_a_time(
    database: Database, loaded_embedder: Embedder
) -> None:
    store = PostgresStore(database.pool, tenant="changing", keep_versions=1)
    fill(store, loaded_embedder, CORPUS)
    moment = datetime.now(UTC).isoformat()
    changed = new_document("leave.md", "Every employee has 30 days of paid holiday.")
    fill(store, loaded_embedder, [changed])
    server = serve(database, Caller("changing", "me"))
    for as_of, days in ((moment, "28 days"), (None, "30 days"), ("2999-01-01", "30 days")):
        then = {} if as_of is None else {"as_of": as_of}
        (hit,) = call(server, "search", query="paid holiday", k=1, **then)["hits"]
        assert days in hit["text"]
        answer = call(server, "ask", question="How many days of paid holiday are there?", **then)
        assert days in answer["answer"]
    for tool in ({"tool": "search", "query": "holiday"}, {"tool": "ask", "question": "holiday?"}):
        for as_of, said in (("2026-02-30", "is no time"), ("1999-01-01", "nothing from 1999")):
            assert said in call(server, as_of=as_of, **tool)


def test_search_returns_passages_and_ask_a_checked_answer(database: Database) -> None:
    server = serve(database, ME)
    hits = call(server, "search", query="paid holiday", k=1)["hits"]
    assert [hit["uri"] for hit in hits] == ["leave.md"]
    answer = call(server, "ask", question="How many days of paid holiday are there?")
    assert "28 days" in answer["answer"]
    assert answer["citations"][0]["verdict"] == "verified"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {"query": "？！"}, "no word"),
        ("search", {"query": "holiday", "collection": "nowhere"}, "nowhere"),
        ("search", {"query": "holiday", "k": 0}, "k"),
        ("search", {"query": ""}, "query"),
        ("ask", {"question": "x" * 32_001}, "question"),
    ],
)
def test_nonsense_is_answered_in_words(
    database: Database, tool: str, arguments: dict[str, object], said: str
) -> None:
    assert said in call(serve(database, ME), tool, **arguments)


def test_a_caller_reads_only_his_tenant_and_his_collections(database: Database) -> None:
    stranger = serve(database, Caller("other", "you"))
    assert "4711" in call(stranger, "search", query="vault")["hits"][0]["text"]
    assert "4711" not in str(call(serve(database, ME), "search", query="vault opens with"))
    confined = serve(database, Caller("default", "me", ("manuals",)))
    assert "no collection 'default'" in call(
        confined, "search", query="holiday", collection="default"
    )
    assert "manuals" in call(confined, "search", query="holiday")  # his default, and not there


@pytest.mark.long
def test_over_standard_input_the_key_of_the_settings_counts(
    database: Database, url: str, tmp_path: Path
) -> None:
    theirs = keys.create(database, name="theirs", tenant="other", principal="you", scopes=["read"])

    async def search(key: str) -> str:
        environment = os.environ | {"RAGKIT_DATABASE_URL": url, "RAGKIT_KEY": key}
        program = StdioServerParameters(
            command=sys.executable, args=["-m", "ragkit", "mcp"], env=environment, cwd=tmp_path
        )
        async with Client(program, read_timeout_seconds=60) as client:
            return str((await client.call_tool("search", {"query": "vault"})).content)

    assert "4711" in anyio.run(search, theirs.secret)
    wrong = {"RAGKIT_DATABASE_URL": url, "RAGKIT_KEY": "rk_wrong"}
    result = run("mcp", folder=tmp_path, environment=wrong)
    assert (result.returncode, result.stdout) == (2, "")
    assert "RAGKIT_KEY" in result.stderr
