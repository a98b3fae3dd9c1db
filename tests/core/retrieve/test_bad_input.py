"""What cannot be searched for, in Python and on the command line: one line that says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import SecretStr

from ragkit import KnowledgeBase, Settings
from ragkit.cli.main import main
from ragkit.errors import ModelError, NotFoundError, QueryError, RagkitError
from ragkit.store.open import Database, open_database
from ragkit.testing import CORPUS, FakeEmbedder, fill
from ragkit.testing.corpus import new_document
from tests.databases import Databases

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

NO_WORD = "has no word: ask with at least one"
EMPTY = "'empty' has no documents: take some in with `ragkit ingest PATH --collection empty`"


class Broken(FakeEmbedder):
    """An embedder whose model computes nonsense."""

    def __init__(self, vector: Vectors) -> None:
        super().__init__()
        self._vector = vector

    def embed_query(self, text: str) -> Vectors:
        return self._vector


@pytest.fixture(scope="module")
def settings(databases: Databases) -> Iterator[Settings]:
    """Settings of a database with a filled collection and an empty one."""
    with databases.take() as url:
        yield Settings(database_url=SecretStr(url))


@pytest.fixture(scope="module")
def database(settings: Settings) -> Iterator[Database]:
    with open_database(settings) as database:
        store = database.store("default")
        fill(store, FakeEmbedder(), CORPUS)
        store.create_collection("empty")
        yield database


def opened(database: Database, settings: Settings, **given: Any) -> KnowledgeBase:
    return KnowledgeBase.over(database, settings, embedder=FakeEmbedder(), **given)


@pytest.mark.parametrize("call", ["search", "ask"])
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize(
    ("query", "k", "message"),
    [
        ("", 3, NO_WORD),
        (" \n", 3, NO_WORD),
        ("wing " * 200_000, 3, "the query has 1,000,000 characters: ask with at most 32,000"),
        ("wing", 0, "k is 0: ask for 1 to 1000 passages"),
        ("wing", -1, "k is -1: ask for 1 to 1000 passages"),
        ("wing", 10_000_000, "k is 10000000: ask for 1 to 1000 passages"),
        ("wing", "5", "k is '5': ask for a whole number of passages"),
        ("wing", 2.0, "k is 2.0: ask for a whole number of passages"),
        ("wing", True, "k is True: ask for a whole number of passages"),
        (None, 3, "the query is None: ask with a text"),
        (5, 3, "the query is 5: ask with a text"),
    ],
)
def test_a_query_that_makes_no_sense(
    database: Database, settings: Settings, call: str, mode: Any, query: Any, k: Any, message: str
) -> None:
    kb = opened(database, settings)
    with pytest.raises(QueryError) as raised:
        getattr(kb, call)(query, k=k, mode=mode)
    assert str(raised.value).endswith(message)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("call", ["search", "ask"])
@pytest.mark.parametrize("mode", ["hybrid", "dense"])
@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (np.full(256, np.nan, np.float32), "with NaN or infinite values"),
        (np.full(256, np.inf, np.float32), "with NaN or infinite values"),
        (np.ones(3, np.float32), r"of shape \(3,\) where its space has 256 dimensions"),
        (np.ones((1, 256), np.float32), r"of shape \(1, 256\) where its space has 256"),
    ],
)
def test_a_vector_that_cannot_be_compared(
    database: Database, settings: Settings, call: str, mode: Any, vector: Vectors, message: str
) -> None:
    kb = KnowledgeBase.over(database, settings, embedder=Broken(vector))
    with pytest.raises(ModelError, match=f"^fake-hashed-terms gave a query vector {message}"):
        getattr(kb, call)("wing", mode=mode)


def test_vectors_that_cannot_be_stored(database: Database, settings: Settings) -> None:
    embedder = FakeEmbedder()
    embedder.load()
    for rows in (np.full((1, 256), np.nan, np.float32), np.ones((1, 3), np.float32)):
        with pytest.raises(RagkitError, match=r"shape|NaN"):
            database.store("default").put_document(
                "empty", new_document("a.txt", "one"), embedder.space, rows
            )


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_where_nothing_can_be_found(database: Database, settings: Settings, mode: Any) -> None:
    nowhere = opened(database, settings, collection="nowhere")
    empty = opened(database, settings, collection="empty")
    with pytest.raises(NotFoundError, match="'nowhere'"):
        nowhere.search("wing", mode=mode)
    with pytest.raises(NotFoundError, match="'nowhere'"):
        nowhere.ask("How long is a wing?", mode=mode)
    with pytest.raises(NotFoundError, match=EMPTY):
        empty.search("wing", mode=mode)
    refused = empty.ask("How long is a wing?", mode=mode)
    assert (refused.refused, refused.citations) == (True, ())
    assert refused.reason == "Nothing was found in the documents."


def test_a_filter_or_a_mode_that_there_is_not(database: Database, settings: Settings) -> None:
    kb = opened(database, settings)
    with pytest.raises(QueryError):
        kb.adapted(where={"equals": {"uri": "a"}})
    with pytest.raises(QueryError, match="there is no mode 'fuzzy': use hybrid, dense or lexical"):
        kb.search("wing", mode="fuzzy")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", ""), NO_WORD),
        (("search", "?!"), NO_WORD),
        (("ask", ""), NO_WORD),
        (("search", "wing " * 20_000), "the query has 100,000 characters"),
        (("ask", "wing " * 20_000), "the query has 100,000 characters"),
        (("search", "wing", "-k", "0"), "k is 0: ask for 1 to 1000 passages"),
        (("search", "wing", "-k", "10000000"), "k is 10000000: ask for 1 to 1000 passages"),
        (("search", "wing", "-k", "many"), "should be a valid integer"),
        (("search", "wing", "--mode", "fuzzy"), "'fuzzy' is not one of"),
        (("search", "wing", "--mode", "lexical", "--collection", "nowhere"), "'nowhere'"),
        (("search", "wing", "--mode", "lexical", "--collection", "empty"), EMPTY),
    ],
)
def test_on_the_command_line(
    database: Database,
    settings: Settings,
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert settings.database_url is not None
    monkeypatch.setenv("RAGKIT_DATABASE_URL", settings.database_url.get_secret_value())
    monkeypatch.setattr(sys, "argv", ["ragkit", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, ""), printed.err
    assert message in printed.err
    assert "Traceback" not in printed.err
    if printed.err.startswith("ragkit: "):
        assert printed.err.count("\n") == 1
