"""Every statement that reads documents or chunks reads the views that hold who may read them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from psycopg import Connection
from psycopg.sql import SQL, Identifier
from psycopg_pool import ConnectionPool

import ragkit
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from tests.core.store.test_postgres import SPACE, document, random_vectors

Pool = ConnectionPool[Connection[tuple[object, ...]]]

ROOT: Final = Path(ragkit.__file__).parents[1]
PACKAGES: Final = ("ragkit", "ingest/ragkit_ingest", "serve", "eval/ragkit_eval")
_READS: Final = re.compile(r"\b(?:FROM|JOIN|USING)\s+(?:document|chunk)\b")

COUNTED = "counts rows of a collection in which nothing is limited"
JOB = "the job ledger: it decides by the principals of an upload's sender"
LOCKED = "moves or deletes rows of documents that the session has locked or stored itself"
OPERATOR = "an operator's: it examines, embeds or indexes every chunk of a collection"
RULE = "decides whether anything is limited or hidden, which the view cannot tell"
OF_VISIBLE = "rows of documents that the same statement takes from a view"
SENDER = "an upload's: it is decided for the file's sender, not for the session"

# Statements that read the tables themselves, by file and name, each with its reason.
ALLOWED: Final = {
    "documents.visible COUNTS": COUNTED,
    "documents.visible HIDDEN_DOCUMENTS": RULE,
    "documents.visible _HIDDEN_CHUNKS": RULE,
    "as_of _HIDDEN": OF_VISIBLE,
    "as_of _MATCHING": OF_VISIBLE,
    "as_of _MISSING": OF_VISIBLE,
    "admin.backup _SAMPLE": OPERATOR,
    "vectors.active_space _ACTIVE": "tells whether a collection has any passage",
    "documents.browse _DOCUMENTS": OF_VISIBLE,
    "documents.chunks _DELETE": LOCKED,
    "documents.copies _ALIKE": "selects documents that all who read the collection read",
    "documents.copies _ALIKE_READ": "selects documents that all who read the collection read",
    "documents.copies _BOTH": "compares the sharing of two documents, and shows none",
    "documents.copies _CONCERNED": LOCKED,
    "documents.copies _DROP_STALE": LOCKED,
    "documents.copies _FIND": LOCKED,
    "documents.copies _HANDED_OVER": SENDER,
    "documents.copies _HAS_DOCUMENT": LOCKED,
    "documents.copies _HEIR": LOCKED,
    "documents.copies _HOLDERS": "selects documents that all who read the collection read",
    "documents.copies _SOURCE": LOCKED,
    "documents.documents _DOCUMENTS": OF_VISIBLE,
    "documents.documents _IS_USED": "tells whether a collection is empty, before it is deleted",
    "documents.documents delete_document": LOCKED,
    "documents.file_list _FILES": OF_VISIBLE,
    "vectors.missing _BATCH": OPERATOR,
    "vectors.missing _COUNT": OPERATOR,
    "vectors.missing _COUNT_ALL": OPERATOR,
    "vectors.missing _SAMPLE": OPERATOR,
    "vectors.missing _STILL": OPERATOR,
    "jobs.lease _DROP_SOURCES": JOB,
    "admin.inspect _HALF_EMPTY": OPERATOR,
    "admin.inspect _LARGEST": OPERATOR,
    "admin.inspect _OUT_OF_TEXT": OPERATOR,
    "admin.inspect _TRUNCATED": OPERATOR,
    "admin.inspect _UNCOUNTED": OPERATOR,
    "admin.inspect _without_vector": OPERATOR,
    "documents.metadata _ADD_VALUES": LOCKED,
    "documents.names _ENDING": OF_VISIBLE,
    "documents.neighbours _AROUND": OF_VISIBLE,
    "jobs.originals _FIND": JOB,
    "words.postings _BURIED_IN": LOCKED,
    "words.postings _BURY": LOCKED,
    "words.reindex _TEXTS": OPERATOR,
    "documents.upload_place _HIDDEN": SENDER,
    "documents.upload_place _SAME": SENDER,
    "jobs.upload_bytes _OF_DOCUMENT": JOB,
    "jobs.upload_bytes _PLACE": JOB,
    "jobs.upload_bytes _TAKEN": JOB,
    "jobs.worker _REPLACED": JOB,
    "jobs.uploads VISIBLE": JOB,
    "vectors.estimate _SAMPLE": "judges hidden documents too, and counts only visible ones",
    "vectors.rows _DOCUMENTS": LOCKED,
    "vectors.spaces _LOOK_UP": RULE,
    "documents.versions _BEYOND": LOCKED,
    "documents.versions _COPY_CHUNKS": LOCKED,
    "documents.versions _DELETE": LOCKED,
    "documents.versions _FIND": LOCKED,
    "documents.versions _JUST_KEPT": LOCKED,
    "documents.versions _KEEP": LOCKED,
    "documents.versions _LOCK_REPLACED": SENDER,
    "documents.versions _MOVE_CHUNKS": LOCKED,
    "documents.versions _RESTORE": LOCKED,
    "documents.versions _SOURCE": LOCKED,
    "documents.versions _TEXTS": LOCKED,
    "documents.versions _WITHOUT_VECTOR": LOCKED,
    "documents.filter_sql _ALLOWED": OF_VISIBLE,
    "documents.filter_sql MATCHING": OF_VISIBLE,
}


def statements() -> Iterator[tuple[str, str]]:
    """Yield each constant and function that holds SQL, by file and name, with its texts."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = path.relative_to(ROOT / package).with_suffix("")
            name = ".".join(module.parts).removeprefix("store.")
            yield from ((f"{name} {of}", text) for of, text in named_texts(path.read_text()))


def named_texts(source: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of each top-level assignment, function and class of a module, by name."""
    for node in ast.parse(source).body:
        name = getattr(node, "name", None)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        if name is not None:
            parts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            yield name, "\n".join(part for part in parts if isinstance(part, str))


def reading(texts: Iterator[tuple[str, str]]) -> set[str]:
    """Name those that read the table of documents or chunks itself."""
    return {name for name, text in texts if _READS.search(text)}


def test_statements_read_the_views_or_are_listed_with_a_reason() -> None:
    assert reading(statements()) == set(ALLOWED)


def test_a_new_statement_on_the_tables_is_noticed() -> None:
    source = """
_TITLES = f"SELECT title FROM document WHERE tenant = %(tenant)s AND {_X}"
_SEEN = "SELECT title FROM visible_document WHERE tenant = %(tenant)s"
def texts(session):
    return session.execute("SELECT c.id FROM source s JOIN chunk c ON true")
"""
    assert reading(named_texts(source)) == {"_TITLES", "texts"}


@pytest.mark.parametrize("readers", [None, ("user:ada",), ("user:eve", "group:x"), ()])
def test_the_views_show_what_the_session_may_read(
    pool: Pool, readers: tuple[str, ...] | None
) -> None:
    store = PostgresStore(pool)
    store.create_collection("c")
    put = store.put_document
    numbers = {
        name: put("c", document(name, "text"), SPACE, random_vectors(1)).id
        for name in ("open", "adas", "eves", "owners")
    }
    shares = Shares(pool, "default")
    shares.document(numbers["adas"], Change(readers=("user:ada",)))
    shares.document(numbers["eves"], Change(readers=("group:x",), owner="user:owner"))
    shares.document(numbers["owners"], Change(readers=(), owner="user:eve"))
    expected: dict[tuple[str, ...] | None, set[str]] = {
        None: {"open", "adas", "eves", "owners"},
        ("user:ada",): {"open", "adas"},
        ("user:eve", "group:x"): {"open", "eves", "owners"},
        (): {"open"},
    }
    for view in ("visible_document", "visible_chunk"):
        with open_session(pool, "default", readers) as session:
            rows = session.execute(SQL("SELECT uri FROM {}").format(Identifier(view))).fetchall()
            assert {uri for (uri,) in rows} == expected[readers]
    shares.collection("c", Change(readers=("user:nobody",)))
    with open_session(pool, "default", readers) as session:
        count = session.value("SELECT count(*) FROM visible_chunk")
        assert count == (4 if readers is None else 0)
        assert session.value("SELECT count(*) FROM visible_collection") == count // 4
    with pool.connection() as conn:  # without a session nothing is shown
        row = conn.execute("SELECT count(*) FROM visible_document").fetchone()
        assert row == (0,)
