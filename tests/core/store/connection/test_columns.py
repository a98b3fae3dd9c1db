"""Rows written by columns are the same by COPY and, under row-level security, by INSERT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import UsageError
from ragkit.store.connection import columns
from ragkit.store.documents.documents import add_collection, collection_id
from ragkit.store.session import Session, open_session

Pool = ConnectionPool[Connection[Any]]
COUNT = 4500  # more than are written in one piece
WAYS = pytest.mark.parametrize("by", ["COPY", "INSERT"])


@pytest.fixture
def session(pool: Pool, by: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr(columns, "_is_secured", lambda cursor: by == "INSERT")
    with open_session(pool, "one") as opened:
        add_collection(opened, "c", {})
        yield opened


@WAYS
def test_all_kinds_of_columns_come_back_as_they_were(session: Session) -> None:
    session.execute(
        "CREATE TEMP TABLE t (tenant text, collection_id bigint, id bigint, ordinal int, page int,"
        " lead int, headings text[], term text, data bytea, flat halfvec(3), whole vector(2))"
    )
    paths = [(), ("航空", 'a "quoted" \\ {path}', ""), ("A",)]
    vectors = np.arange(3 * COUNT).reshape(COUNT, 3).astype(np.float16)
    table: dict[str, columns.Column] = {
        "id": columns.Integers("int8", np.arange(COUNT) + (1 << 40)),
        "ordinal": columns.Integers("int4", np.arange(COUNT, dtype=np.int32)),
        "page": columns.Optional([None if n % 2 else n for n in range(COUNT)]),
        "lead": columns.Same("int4", None),
        "headings": columns.Paths([paths[n % 3] for n in range(COUNT)]),
        "term": columns.Texts(["机翼" * (n % 300) for n in range(COUNT)]),
        "data": columns.Bytes([bytes([n % 256]) * (n % 600) for n in range(COUNT)]),
        "flat": columns.Vectors("halfvec", vectors),
        "whole": columns.Vectors("vector", -vectors[:, :2].astype(np.float32)),
    }
    number = collection_id(session, "c")
    columns.add_rows(session, number, "t", table, COUNT)
    rows = session.execute("SELECT *, flat::real[], whole::real[] FROM t ORDER BY id").fetchall()
    assert len(rows) == COUNT
    for n, row in enumerate(rows):
        assert row[:6] == ("one", number, n + (1 << 40), n, None if n % 2 else n, None)
        assert row[6:9] == (list(paths[n % 3]), "机翼" * (n % 300), bytes([n % 256]) * (n % 600))
        assert row[-2] == vectors[n].tolist()
        assert row[-1] == (-vectors[n, :2]).tolist()


@WAYS
def test_columns_of_one_length_and_no_rows_at_all(session: Session) -> None:
    session.execute("CREATE TEMP TABLE t (tenant text, collection_id bigint, a int, b bigint)")
    table: dict[str, columns.Column] = {
        "a": columns.Integers("int4", np.array([1, -2])),
        "b": columns.Same("int8", -3),
    }
    number = collection_id(session, "c")
    columns.add_rows(session, number, "t", table, 0)
    columns.add_rows(session, number, "t", table, 2)
    assert session.execute("SELECT a, b FROM t").fetchall() == [(1, -3), (-2, -3)]


@WAYS
@pytest.mark.parametrize(
    "column",
    [
        columns.Texts(["wing", "a\0b"]),
        columns.Paths([("wing",), ("a", "b\0")]),
        columns.Same("text", "a\0b"),
    ],
)
def test_a_text_with_a_nul_is_refused(
    pool: Pool, by: str, monkeypatch: pytest.MonkeyPatch, column: columns.Column
) -> None:
    monkeypatch.setattr(columns, "_is_secured", lambda cursor: by == "INSERT")
    kind = "text[]" if isinstance(column, columns.Paths) else "text"
    table = f"CREATE TEMP TABLE t (tenant text, collection_id bigint, n int, a {kind})"
    values = {"n": columns.Integers("int4", np.arange(2)), "a": column}

    def add() -> None:
        with open_session(pool, "one") as session:
            add_collection(session, "c", {})
            session.execute(table.encode())
            columns.add_rows(session, collection_id(session, "c"), "t", values, 2)

    with pytest.raises(UsageError, match="holds a NUL"):
        add()
