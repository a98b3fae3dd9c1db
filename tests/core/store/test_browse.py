"""Documents found by name among many: what fits, in which order, and how little of it travels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.errors import NotFoundError
from ragkit.store.browse import Browser, Found
from ragkit.store.open import Database, open_database
from ragkit.testing import FakeEmbedder
from ragkit.testing.corpus import fill, new_document
from tests.databases import Databases

MANY = 3000
INSERT_MANY = """
    INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, chars, text)
    SELECT 'default', id, 'upload:report-' || n || '.pdf', sha256(n::text::bytea), '', '',
        'Report ' || to_char(n, 'FM0000'), 'en', '', '{}', '{0}', '{1}', 1, 'x'
    FROM collection, generate_series(1, %s) n WHERE name = 'many'
"""
DOCUMENTS = (
    new_document("folder/zebra.md", "Striped."),
    new_document("b.md", "One.", "Two.", title="alpha 100%"),
    new_document("a.md", "One.", title="Beta_1"),
    new_document("c.md", "One.", title="BetaX1"),
    new_document("差旅.md", "差旅报销。", title="差旅规定"),
    new_document("q.md", "One.", title="ÜBER ALLES' OR 1=1 --"),
)


@pytest.fixture(scope="module")
def database(databases: Databases) -> Iterator[Database]:
    """A database that tests only read."""
    with (
        databases.take() as url,
        open_database(Settings(database_url=SecretStr(url))) as database,
    ):
        store = database.store("default")
        fill(store, FakeEmbedder(), DOCUMENTS)
        for name in ("many", "empty"):
            store.create_collection(name)
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute(INSERT_MANY, (MANY,))
        yield database


@pytest.fixture
def browser(database: Database) -> Browser:
    return Browser(database.pool, "default")


def names(found: Found) -> list[str]:
    return [one.title or one.uri for one in found.documents]


def test_documents_are_found_by_title_and_uri_in_any_case_sorted_by_name(browser: Browser) -> None:
    everything = browser.find("default", limit=10)
    assert names(everything) == [
        *("alpha 100%", "Beta_1", "BetaX1", "folder/zebra.md", "ÜBER ALLES' OR 1=1 --", "差旅规定")
    ]
    assert (everything.matched, everything.all) == (6, 6)
    assert everything.documents[0].chunks == 2
    assert names(browser.find("default", "BETA", limit=10)) == ["Beta_1", "BetaX1"]
    assert names(browser.find("default", "FOLDER/Z", limit=10)) == ["folder/zebra.md"]
    assert names(browser.find("default", "über", limit=10)) == ["ÜBER ALLES' OR 1=1 --"]
    assert names(browser.find("default", "旅规", limit=10)) == ["差旅规定"]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("%", ["alpha 100%"]),
        ("_", ["Beta_1"]),
        ("\\", []),
        ("' OR 1=1 --", ["ÜBER ALLES' OR 1=1 --"]),
        ("%s", []),
        ("\0", []),
        ("\ud800", []),
        ("nothing of the kind", []),
    ],
)
def test_no_character_has_a_meaning_of_its_own(
    browser: Browser, part: str, expected: list[str]
) -> None:
    found = browser.find("default", part, limit=10)
    assert names(found) == expected
    assert (found.matched, found.all) == (len(expected), 6)


def test_what_is_not_there_is_not_found(database: Database, browser: Browser) -> None:
    assert browser.find("empty", limit=10) == Found((), 0, 0)
    with pytest.raises(NotFoundError, match="no collection 'nowhere'"):
        browser.find("nowhere", limit=10)
    with pytest.raises(NotFoundError):
        Browser(database.pool, "other").find("default", limit=10)


def test_of_many_only_the_first_travel(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[int] = []
    execute = psycopg.Cursor.execute

    def counting(self: Any, *args: Any, **options: Any) -> Any:
        done = execute(self, *args, **options)
        received.append(max(0, self.rowcount))
        return done

    monkeypatch.setattr(psycopg.Cursor, "execute", counting)
    found = browser.find("many", limit=20)
    assert (found.matched, found.all) == (MANY, MANY)
    assert names(found) == [f"Report {n:04}" for n in range(1, 21)]
    found = browser.find("many", "report 1", limit=5)
    assert (found.matched, found.all) == (1000, MANY)
    assert names(found) == [f"Report {n}" for n in range(1000, 1005)]
    assert 0 < sum(received) <= 20 + 5 + 10, "rows, with those of counts and look-ups"
