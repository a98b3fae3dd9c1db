"""Filters: what they accept, and that PostgreSQL finds exactly what the definition says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from psycopg.sql import SQL

from ragkit.contracts import Embedder
from ragkit.errors import NotFoundError, QueryError, UsageError
from ragkit.filters.text import write
from ragkit.filters.tree import matches, parse, texts_of
from ragkit.knowledge.base import KnowledgeBase
from ragkit.store.documents import metadata
from ragkit.store.documents.documents import collection_id
from ragkit.store.documents.filter_sql import matching, restriction
from ragkit.store.documents.metadata import MetadataKeys
from ragkit.store.open import Database
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import session_on
from ragkit.testing.answering import FakeGenerator
from ragkit.testing.corpus import fill, new_document
from ragkit.testing.embedder import FakeEmbedder
from ragkit.testing.store import FakeStore
from tests.databases import Databases

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
HOSTILE += ["__proto__", "constructor", "' OR 1=1 --", "%(readers)s", "ｙear", "yеar", "\n"]
# Longer than what an index holds of a value, and alike as far as that.
LONG = ["x" * 600, "x" * 600 + "a", "x" * 250, "x" * 249 + "y"]
TEXTS = [*HOSTILE, *LONG, "2020", "2020.5", "-3", "1e5", "٣", "en", "zh", "9", "10"]
TEXTS += ["7\n"]  # `$` of some regular expressions lets a last newline pass
TEXTS += ["9007199254740993", "9007199254740992", "0.1", "0.10000000000000000001"]

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
    for n in range(40)
]

names = st.sampled_from([*(one for one in HOSTILE if one), "uri", "title"])
codes = st.sampled_from(["language", "media_type"])
texts = st.sampled_from(TEXTS)
values = st.one_of(
    texts,
    st.integers(-(10**20), 10**20),
    st.integers(-5, 40),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
numbers = st.one_of(
    st.integers(-(10**20), 10**20), st.integers(-5, 40), st.floats(allow_nan=False, width=32)
).filter(lambda number: abs(number) < 10**30)
own = st.sampled_from(["document", "version"])
comparisons = st.one_of(
    st.tuples(st.sampled_from(["eq", "ne", "lt", "lte", "gt", "gte"]), own, numbers).map(
        lambda given: {given[0]: {given[1]: given[2]}}
    ),
    st.tuples(st.sampled_from(["eq", "ne", "lt", "lte", "gt", "gte"]), names, values).map(
        lambda given: {given[0]: {given[1]: given[2]}}
    ),
    st.tuples(st.sampled_from(["eq", "ne", "lt", "gte", "contains"]), codes, texts).map(
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


@pytest.fixture(scope="module")
def opened(databases: Databases) -> Iterator[Database]:
    with databases.open() as database:
        yield database


@pytest.fixture(scope="module")
def stores(opened: Database, embedder: Embedder) -> tuple[PostgresStore, FakeStore]:
    """The same documents in PostgreSQL and in memory, and those of another tenant."""
    real, fake = opened.store("default"), FakeStore()
    fill(real, embedder, DOCUMENTS)
    fill(real, embedder, DOCUMENTS[:20], "declared")
    keys = MetadataKeys(opened.pool, "default")
    keys.declare("declared", {"year": "number", "author": "text", "a'b": "text"})
    fill(real, embedder, DOCUMENTS[20:], "declared")
    fill(fake, embedder, DOCUMENTS)
    fill(opened.store("other"), embedder, DOCUMENTS[:3])
    return real, fake


@settings(
    max_examples=150,
    deadline=None,
    database=None,
)
@given(tree=filters)
@example(tree={"eq": {"year": 7}})
def test_postgresql_finds_what_the_definition_says(
    stores: tuple[PostgresStore, FakeStore], tree: dict[str, Any]
) -> None:
    """Also where keys are declared and an index is asked, and whichever way it is written."""
    real, _ = stores
    where = parse(tree)
    assert parse(write(where)) is not None
    for collection in ("default", "declared"):
        with real.snapshot() as reader:
            try:
                found = {hit.uri for hit in reader.hits(reader.matching(collection, where))}
            except QueryError as error:
                declares = collection == "declared" and " is none" in str(error)
                if not declares:
                    raise
                continue
        uris = {document.id: document.uri for document in real.documents(collection)}
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
                **{f"metadata.{key}": str(value) for key, value in new.metadata.items()},
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
        ({"eq": {"a": float("nan")}}, "texts and numbers"),
        ({"eq": {"a": [1]}}, "texts and numbers"),
        ({"eq": {"a": "x\0"}}, "texts and numbers"),
        ({"eq": {"a": "\ud800"}}, "texts and numbers"),
        ({"eq": {"a": "x" * 2000}}, "texts and numbers"),
        ({"in": {"a": "abc"}}, "list of at most"),
        ({"in": {"a": [1] * 2000}}, "list of at most"),
        ({"exists": {"a": 1}}, "true or false"),
        ({"contains": {"a": 1}}, "takes a text"),
        ({"gt": {"language": 3}}, "'language' is a text: 3 is none"),
        ({"in": {"media_type": ["text/html", 3]}}, "'media_type' is a text: 3 is none"),
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


def test_true_and_false_are_the_texts_that_metadata_has(
    stores: tuple[PostgresStore, FakeStore],
) -> None:
    assert parse({"eq": {"draft": True}}) == parse({"eq": {"draft": "true"}})
    assert matches(parse("draft = true"), texts_of({"draft": True}))
    assert not matches(parse("draft = true"), texts_of({"draft": None}))
    assert matches(parse("tags contains 'b'"), texts_of({"tags": ["a", "b"]}))


@pytest.mark.parametrize("tree", [{"eq": {"yeer": 1}}, {"not": {"eq": {"yeer": 1}}}])
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_a_field_that_no_document_has_is_no_answer(
    stores: tuple[PostgresStore, FakeStore], embedder: Embedder, tree: Any, mode: Any
) -> None:
    for store in stores:
        kb = KnowledgeBase(store, embedder, FakeGenerator(), collection="default")
        with pytest.raises(QueryError, match="no document of the collection has the field 'yeer'"):
            kb.adapted(where=tree).search("wombat", mode=mode)
        with pytest.raises(QueryError, match=r"use .*year"):
            kb.adapted(where=tree).search("wombat", mode=mode)


def test_a_wrong_type_of_a_declared_key_is_refused(
    stores: tuple[PostgresStore, FakeStore],
) -> None:
    real, _ = stores
    with real.snapshot() as reader:
        for where in ("year = 'x'", "year in (1, '2')", "not year contains 'x'", "author = 3"):
            with pytest.raises(QueryError, match=r"is a (number|text)"):
                reader.matching("declared", parse(where))
        assert reader.matching("declared", parse("year exists"))


@pytest.fixture(scope="module")
def library(opened: Database, embedder: Embedder) -> Database:
    """A tenant with four thousand documents, each with a year, a team and a day."""
    fill(opened.store("many"), embedder, DOCUMENTS[:1])
    with opened.pool.connection() as conn:
        conn.execute(
            """
            INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash,
                fingerprint, title, language, media_type, metadata, page_starts, page_numbers,
                chars, text)
            SELECT tenant, collection_id, 'd' || n, sha256(convert_to('d' || n, 'UTF8')), '',
                '', '', 'en', '', jsonb_build_object('year', (n % 2000)::text, 'team',
                'team ' || n % 500, 'day', to_char(date '2020-01-01' + n, 'YYYY-MM-DD')),
                '{}', '{}', 1, 'x'
            FROM document, generate_series(1, 4000) AS n WHERE tenant = 'many'
            """
        )
        conn.execute(
            """
            INSERT INTO chunk (tenant, id, collection_id, document_id, ordinal, start_char,
                end_char, headings, tokens, terms)
            SELECT tenant, nextval('chunk_id'), collection_id, id, 0, 0, 1, '{}', 1, 1
            FROM document WHERE tenant = 'many' AND text = 'x'
            """
        )
    keys = MetadataKeys(opened.pool, "many")
    keys.declare("default", {"year": "number", "team": "text", "day": "date"})
    with opened.pool.connection() as conn:
        conn.execute("ANALYZE document, chunk, metadata_value")
    return opened


@pytest.mark.parametrize(
    ("where", "index", "documents"),
    [
        ("year = 77", "metadata_value_number", 2),
        ("year >= 1995", "metadata_value_number", 10),
        ("year > 9.5 and year < 12", "metadata_value_number", 4),
        ("team = 'team 9'", "metadata_value_text", 8),
        ("team in ('team 9', 'team 10')", "metadata_value_text", 16),
        ("day < 2020-01-05", "metadata_value_text", 3),
        ("day >= 2020-02-01 and day <= 2020-02-02 and language = 'en'", "metadata_value_text", 2),
    ],
)
@pytest.mark.parametrize("secured", [False, True])
def test_filters_on_declared_keys_use_their_index(
    library: Database, where: str, index: str, documents: int, secured: bool
) -> None:
    """Also under row-level security, where PostgreSQL trusts few comparisons with an index."""
    tree = parse(where)
    with (
        library.pool.connection() as conn,
        conn.transaction(force_rollback=True),
        conn.cursor() as cursor,
    ):
        session = session_on(cursor, "many")
        number = collection_id(session, "default")
        if secured:
            cursor.execute("SELECT ragkit_enforce()")
            cursor.execute("CREATE ROLE reads_filters")
            cursor.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reads_filters")
            cursor.execute("SET LOCAL ROLE reads_filters")
        declared = metadata.check(session, number, tree)
        among = restriction(tree, declared=declared)
        assert among is not None
        found = matching(session, number, among)
        assert len(found) == documents
        statement = SQL(
            "EXPLAIN SELECT d.id FROM visible_document d"
            " WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s AND {}"
        ).format(among.condition)
        values = {"tenant": "many", "collection": number, **among.values}
        plan = "\n".join(row[0] for row in cursor.execute(statement, values))
        assert index in plan
        assert "Seq Scan" not in plan
        plain = restriction(tree)  # as if nothing were declared
        assert plain is not None
        assert matching(session, number, plain) == found


def test_declaring_needs_a_key_that_can_be_declared(library: Database) -> None:
    keys = MetadataKeys(library.pool, "many")
    for key in ("", " ", "x" * 200, "a\nb", "uri", "metadata.uri"):
        with pytest.raises(UsageError):
            keys.declare("default", {key: "text"})
    with pytest.raises(NotFoundError):
        keys.declare("nowhere", {"a": "text"})
    keys.declare("default", {"odd": "number", "team": "number"})
    found = {one.key: (one.type, one.documents, one.others) for one in keys.declared("default")}
    assert found["odd"] == ("number", 0, 0)
    assert found["team"] == ("number", 4000, 4000)
    assert found["year"][1] == 4001
    keys.declare("default", {"team": "text"})
    keys.forget("default", ["odd"])
    assert [one.key for one in keys.declared("default")] == ["day", "team", "year"]


def test_times_are_compared(library: Database) -> None:
    store = library.store("many")
    with store.snapshot() as reader:
        assert len(reader.matching("default", parse("created_at >= 2020-01-01"))) == 4001
        assert reader.matching("default", parse("updated_at < 2020-01-01T09:30:00Z")) == []
