"""Filters: what they accept, and that PostgreSQL finds exactly what the definition says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from ragkit import Settings
from ragkit.contracts import Embedder
from ragkit.errors import QueryError
from ragkit.filters import matches, parse
from ragkit.knowledge import KnowledgeBase
from ragkit.store.open import open_database
from ragkit.store.postgres import PostgresStore
from ragkit.testing.answering import FakeGenerator
from ragkit.testing.corpus import fill, new_document
from ragkit.testing.embedder import FakeEmbedder
from ragkit.testing.store import FakeStore

HOSTILE = ["a'b", 'a"b', "a\\", "%s", "%(v0)s", "{}", "{0}", "--", "; DROP TABLE document", "$1"]
HOSTILE += [
    "author",
    "year",
    "uri",
    "id",
    "metadata.author",
    "",
    " ",
    "é",
    "作者",
    "\u202e",
    "null",
]
TEXTS = [*HOSTILE, "2020", "2020.5", "-3", "1e5", "٣", "en", "zh", "9", "10"]

DOCUMENTS = [
    replace(
        new_document(f"doc{n}.md", f"The wombat number {n} digs."),
        language="en" if n % 2 else "zh",
        metadata={
            HOSTILE[n % len(HOSTILE)]: TEXTS[(7 * n) % len(TEXTS)],
            "year": TEXTS[(3 * n) % len(TEXTS)],
            "author": HOSTILE[(5 * n) % len(HOSTILE)],
        },
    )
    for n in range(30)
]

names = st.sampled_from(
    [*(one for one in HOSTILE if one), "document", "uri", "title", "language", "version", "nowhere"]
)
values = st.one_of(
    st.sampled_from(TEXTS),
    st.integers(-(10**20), 10**20),
    st.integers(-5, 40),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
comparisons = st.one_of(
    st.tuples(st.sampled_from(["eq", "ne", "lt", "lte", "gt", "gte"]), names, values).map(
        lambda given: {given[0]: {given[1]: given[2]}}
    ),
    st.tuples(names, st.lists(values, max_size=4)).map(lambda given: {"in": {given[0]: given[1]}}),
    st.tuples(names, st.booleans()).map(lambda given: {"exists": {given[0]: given[1]}}),
    st.tuples(names, st.sampled_from(TEXTS)).map(lambda given: {"contains": {given[0]: given[1]}}),
)
filters: st.SearchStrategy[dict[str, Any]] = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: {"and": parts}),
        st.lists(inner, max_size=3).map(lambda parts: {"or": parts}),
        inner.map(lambda part: {"not": part}),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    embedder = FakeEmbedder()
    embedder.load()
    return embedder


@pytest.fixture
def stores(fresh_database: str, embedder: Embedder) -> Iterator[tuple[PostgresStore, FakeStore]]:
    """The same documents in PostgreSQL and in memory, and those of another tenant."""
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        real, fake = database.store("default"), FakeStore()
        fill(real, embedder, DOCUMENTS)
        fill(fake, embedder, DOCUMENTS)
        fill(database.store("other"), embedder, DOCUMENTS[:3])
        yield real, fake


@settings(
    max_examples=300,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tree=filters)
def test_postgresql_finds_what_the_definition_says(
    stores: tuple[PostgresStore, FakeStore], tree: dict[str, Any]
) -> None:
    real, _ = stores
    where = parse(tree)
    with real.snapshot() as reader:
        found = {hit.uri for hit in reader.hits(reader.matching("default", where))}
    uris = {document.id: document.uri for document in real.documents("default")}
    expected = set()
    for number, uri in uris.items():
        new = next(one for one in DOCUMENTS if one.uri == uri)
        fields: dict[str, str | int] = {
            "document": number,
            "version": 1,
            "uri": uri,
            "title": new.title,
            "language": new.language,
            "media_type": new.media_type,
            **{f"metadata.{key}": value for key, value in new.metadata.items()},
        }
        if matches(where, fields):
            expected.add(uri)
    assert found == expected


def test_the_fake_store_agrees(stores: tuple[PostgresStore, FakeStore]) -> None:
    real, fake = stores
    for tree in (
        {"eq": {"language": "en"}},
        {"gt": {"year": 100}},
        {"not": {"exists": {"作者": True}}},
        {"contains": {"author": "DROP"}},
    ):
        with real.snapshot() as one, fake.snapshot() as other:
            found = {hit.uri for hit in one.hits(one.matching("default", parse(tree)))}
            assert found
            hits = other.hits(other.matching("default", parse(tree)))
            assert {hit.uri for hit in hits} == found


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_a_search_always_finds_k_when_there_are_k(
    stores: tuple[PostgresStore, FakeStore], embedder: Embedder, mode: Any
) -> None:
    real, _ = stores
    kb = KnowledgeBase(real, embedder, FakeGenerator(), collection="default")
    narrow = kb.adapted(where={"in": {"uri": ["doc3.md", "doc7.md", "doc11.md"]}})
    found = narrow.search("wombat", k=3, mode=mode)
    assert {hit.uri for hit in found} == {"doc3.md", "doc7.md", "doc11.md"}
    assert kb.adapted(where={"eq": {"uri": "nowhere"}}).search("wombat", mode=mode) == []


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({}, "one operator"),
        ([], "one operator"),
        ({"eq": {"a": 1}, "ne": {"b": 2}}, "one operator"),
        ({"like": {"a": "b"}}, "no operator 'like'"),
        ({"eq": "a"}, "one field"),
        ({"eq": {"a": 1, "b": 2}}, "one field"),
        ({"eq": {"": 1}}, "field cannot be"),
        ({"eq": {"a": None}}, "texts and numbers"),
        ({"eq": {"a": True}}, "texts and numbers"),
        ({"eq": {"a": float("nan")}}, "texts and numbers"),
        ({"eq": {"a": [1]}}, "texts and numbers"),
        ({"eq": {"a": "x\0"}}, "texts and numbers"),
        ({"eq": {"a": "\ud800"}}, "texts and numbers"),
        ({"eq": {"a": "x" * 2000}}, "texts and numbers"),
        ({"in": {"a": "abc"}}, "list of at most"),
        ({"in": {"a": [1] * 2000}}, "list of at most"),
        ({"exists": {"a": 1}}, "true or false"),
        ({"contains": {"a": 1}}, "takes a text"),
        ({"and": {"eq": {"a": 1}}}, "list of filters"),
        ({"and": [{"eq": {"a": 1}}] * 300}, "too large"),
    ],
)
def test_nonsense_is_refused_in_one_line(tree: Any, said: str) -> None:
    with pytest.raises(QueryError, match=said) as caught:
        parse(tree)
    assert "\n" not in str(caught.value)


def test_a_deep_filter_is_refused() -> None:
    tree: dict[str, Any] = {"eq": {"a": 1}}
    for _ in range(2000):
        tree = {"not": tree}
    with pytest.raises(QueryError, match="too large"):
        parse(tree)
