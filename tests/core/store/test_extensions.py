"""Collections indexed by an extension of the server: against a stand-in of each.

Neither extension can be installed here. The stand-ins have the documented names and types, and
score by how many of the query's words a text has; the CREATE INDEX statements are not run.
"""

from __future__ import annotations

from typing import Any

import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import SettingsError
from ragkit.filters import parse
from ragkit.retrieve.words.lexical import search_words
from ragkit.store import extensions
from ragkit.store.extensions import LexicalIndex
from ragkit.store.postgres import PostgresStore
from ragkit.testing import FakeEmbedder, fill, new_document

Pool = ConnectionPool[Connection[Any]]

SHARED_WORDS = """
    CREATE FUNCTION stand_in(text, text[]) RETURNS double precision LANGUAGE sql AS $$
        SELECT count(*)::double precision
        FROM unnest(string_to_array($1, ' ')) word WHERE word = ANY($2)
    $$;
"""
TEXTSEARCH = """
    CREATE TYPE bm25query AS (query text, index text);
    CREATE FUNCTION to_bm25query(text, text) RETURNS bm25query
        LANGUAGE sql AS 'SELECT ($1, $2)::bm25query';
    CREATE FUNCTION stand_in_score(text, bm25query) RETURNS double precision LANGUAGE sql AS
        $$ SELECT -stand_in($1, string_to_array(($2).query, ' ')) $$;
    CREATE OPERATOR <@> (LEFTARG = text, RIGHTARG = bm25query, FUNCTION = stand_in_score);
    CREATE INDEX lexical_text_textsearch ON lexical_text (tenant);
"""
# pdb.score knows the query from the index scan; the stand-in remembers it from the operator.
SEARCH = """
    CREATE SCHEMA pdb;
    CREATE FUNCTION stand_in_match(text, text[]) RETURNS boolean LANGUAGE sql VOLATILE AS $$
        SELECT set_config('stand_in.query', $2::text, true) IS NOT NULL AND stand_in($1, $2) > 0
    $$;
    CREATE OPERATOR ||| (LEFTARG = text, RIGHTARG = text[], FUNCTION = stand_in_match);
    CREATE FUNCTION pdb.score(bigint) RETURNS real LANGUAGE sql VOLATILE AS $$
        SELECT stand_in(words, current_setting('stand_in.query')::text[])::real
        FROM lexical_text WHERE chunk_id = $1
    $$;
    CREATE INDEX lexical_text_search ON lexical_text (tenant);
"""
TEXTS = {
    "d0": "The force majeure clause",
    "d1": "majeure is French and a force is a force",
    "d2": "合同法规定了违约责任",
    "d3": "nothing of the kind",
}


def stand_in(pool: Pool, name: LexicalIndex, script: str) -> PostgresStore:
    with pool.connection() as conn:
        conn.execute(SHARED_WORDS)
        conn.execute(script)
        conn.execute("SET LOCAL allow_system_table_mods = on")
        conn.execute(
            "INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable,"
            " extversion) VALUES (99999, %s, 10, 2200, false, '1.0')",
            (name,),
        )
    store = PostgresStore(pool, lexical_index=name)
    fill(store, FakeEmbedder(), [new_document(uri, text) for uri, text in TEXTS.items()])
    return store


@pytest.mark.parametrize(("name", "script"), [("pg_textsearch", TEXTSEARCH), ("pg_search", SEARCH)])
def test_an_extension_ranks_instead(pool: Pool, name: LexicalIndex, script: str) -> None:
    store = stand_in(pool, name, script)

    def search(query: str, k: int = 10, where: dict[str, Any] | None = None) -> list[str]:
        with store.snapshot() as reader:
            condition = None if where is None else parse(where)
            found = search_words(reader, "default", query, k, condition)
            chunks = [chunk for chunk, _ in found.best]
            assert found.chunks == len(TEXTS)
            assert found.scores(chunks) == pytest.approx(dict(found.best))
            assert not chunks or 0 < found.coverage <= 1
            return [hit.uri for hit in reader.hits(chunks)]

    assert search("forces majeures") == ["d1", "d0"]
    assert search("forces majeures", k=1) == ["d1"]
    assert search('"force majeure"') == ["d0"]
    assert search("force -french") == ["d0"]
    assert search("合同") == ["d2"]
    assert search("违约 -合同法") == []
    assert search("force", where={"eq": {"uri": "d0"}}) == ["d0"]
    assert search("absent") == []
    with pool.connection() as conn:
        assert conn.execute("SELECT count(*) FROM lexical_posting").fetchone() == (0,)
    d0 = next(one.id for one in store.documents("default") if one.uri == "d0")
    store.delete_document("default", d0)
    with store.snapshot() as reader:
        found = search_words(reader, "default", "force majeure", 10)
        assert (len(found.best), found.chunks) == (1, len(TEXTS) - 1)


@pytest.mark.parametrize("name", ["pg_textsearch", "pg_search"])
def test_a_missing_extension_is_named_and_nothing_is_made(pool: Pool, name: LexicalIndex) -> None:
    store = PostgresStore(pool, lexical_index=name)
    with pytest.raises(SettingsError, match=f"CREATE EXTENSION {name}"):
        store.create_collection("c")
    assert store.collections() == []


def test_an_index_is_made_while_no_transaction_is_open(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may take long, and needs a connection of its own."""
    in_use: list[object] = []

    def ensure(conn: Connection[Any], name: str) -> None:
        begun = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
        in_use.append((name, conn.execute(begun).fetchone()))

    monkeypatch.setattr(extensions, "ensure_index", ensure)
    store = PostgresStore(pool, lexical_index="pg_search")
    store.create_collection("c")
    assert in_use == [("pg_search", (0,))]
    store.create_collection("c")  # there already, and its index with it
    assert len(in_use) == 1


def test_a_collection_keeps_its_index_whatever_the_settings_become(pool: Pool) -> None:
    PostgresStore(pool).create_collection("c")
    later = PostgresStore(pool, lexical_index="pg_search")
    assert later.create_collection("c").name == "c"
    with later.snapshot() as reader:
        assert reader.lexical_index("c") == "ragkit"
