"""Back a database up into a folder, restore it, and compare rows and searches of both.

PostgreSQL's own pg_dump and pg_restore do the work.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING, Any, Final

from psycopg import sql

from ragkit.errors import DatabaseError, RagkitError, UsageError
from ragkit.store.admin.clear import MIGRATIONS, clear, clear_unused
from ragkit.store.connection.citus import is_distributed
from ragkit.store.connection.connect import connect
from ragkit.store.connection.migrate import is_current, last_step, migrate
from ragkit.store.connection.rows import first_value
from ragkit.store.connection.transactions import translate
from ragkit.store.server.programs import find_programs, reason_in
from ragkit.system.private_files import make_private, private

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

FORMAT: Final = 1  # of check.json
SAMPLED: Final = 5  # stored passages of each collection that are searched for; arbitrary
HITS: Final = 10

_TABLES: Final = """
    SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
        AND relnamespace = current_schema()::regnamespace ORDER BY relname
"""
# A row's text is the same on every server; the sum does not depend on the rows' order.
_CONTENT: Final = """
    SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text FROM {} AS t
"""
_SAMPLE: Final = """
    SELECT c.tenant, n.name, c.id,
        substr(d.text, c.start_char + 1, least(200, c.end_char - c.start_char))
    FROM collection n CROSS JOIN LATERAL (
        SELECT * FROM chunk k WHERE k.tenant = n.tenant AND k.collection_id = n.id
        ORDER BY hashint8extended(k.id, 0), k.id LIMIT %s
    ) AS c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE n.versions_of IS NULL
    ORDER BY c.tenant, n.name, c.id
"""
_SPACES: Final = """
    SELECT id, model, revision, dimension, query_prefix, passage_prefix FROM embedding_space
    ORDER BY id
"""
_WITHOUT_CITUS: Final = ("--exclude-extension=citus", "--exclude-extension=citus_columnar")
_NOT_TO_NODES: Final = "-c citus.enable_ddl_propagation=off"  # unknown to a server without Citus
_PATIENT: Final = "SET LOCAL idle_in_transaction_session_timeout = 0"  # while pg_dump writes


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a database: rows and a hash by table, and the hits of searches.

    `searches` maps a tenant, collection, sampled chunk and leg to the ids of its hits, best first;
    it is empty where the schema is another version's.
    """

    tables: Mapping[str, tuple[int, str]]
    searches: Mapping[str, list[int]]

    def other_rows(self, other: Content) -> list[str]:
        """Name the tables whose rows are not the same in another."""
        return [
            f"table {name}: {_rows(self.tables.get(name))},"
            f" restored {_rows(other.tables.get(name))}"
            for name in sorted(self.tables.keys() | other.tables.keys())
            if self.tables.get(name) != other.tables.get(name)
        ]

    def other_searches(self, other: Content) -> list[str]:
        """Name the searches of both that do not find the same, in the same order."""
        return [
            f"search {name}: {self.searches[name]}, restored {other.searches[name]}"
            for name in sorted(self.searches.keys() & other.searches.keys())
            if self.searches[name] != other.searches[name]
        ]


def back_up(url: str, folder: Path) -> Content:
    """Write a database into a new folder, complete or not at all; return what it holds.

    Only its owner may read the folder and its files. Dump and content are of one moment, while
    readers and writers go on; on a cluster, whose nodes have no moment in common, writers wait.
    Raises UsageError for a folder that is there, DatabaseError.
    """
    folder = folder.absolute()  # PostgreSQL's programs run in another folder
    if folder.exists():
        raise UsageError(f"{folder} is there already: name a folder that is not.")
    part = folder.with_name(folder.name + ".part")
    try:
        make_private(part.parent)
        part.mkdir(mode=0o700)
    except OSError as error:
        raise UsageError(f"{part} cannot be made: {error.strerror}.") from error
    try:
        with connect(url) as conn:
            current = is_current(conn)
            with _snapshot(conn, alone=is_distributed(conn)) as cursor:
                saved = content(cursor, searched=current)
                shared = str(first_value(cursor, "SELECT pg_export_snapshot()"))
                dump = ["pg_dump", "--format=custom", "--enable-row-security", *_WITHOUT_CITUS]
                dump += ["--snapshot", shared, "--file", str(part / "database.dump")]
                _run(dump, url)
        _write(part / "check.json", {"format": FORMAT, **asdict(saved)})
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return saved


def restore(url: str, folder: Path, *, keep: bool = False) -> Content:
    """Fill an empty database from a backup, all or nothing, and compare it with what was saved.

    Rows that came out otherwise are taken out again, unless `keep`; equal rows stay, even if what
    is found in them is not the same. Rights are not restored: `ragkit db prepare` gives them.
    Raises UsageError for a folder that is no backup and for a database that holds something,
    DatabaseError when it failed, or when rows or searches came out otherwise.
    """
    folder = folder.absolute()
    saved = read_content(folder)
    is_prerelease = "lexical_text" in saved.tables  # which numbered its steps otherwise
    if not is_prerelease and saved.tables.get(MIGRATIONS, (0, ""))[0] > last_step():
        raise UsageError(f"{folder} is the backup of a newer ragkit: upgrade this one first.")
    with connect(url) as conn:
        clear_unused(conn)
    command = ["pg_restore", "--single-transaction", "--exit-on-error", "--no-owner", "--no-acl"]
    command += ["--no-comments"]  # the one on pgvector is its owner's to make
    # The database itself is named in the environment, as its password is.
    _run([*command, "--dbname", "application_name=ragkit", str(folder / "database.dump")], url)
    try:
        restored = _restored(url)
    except RagkitError as error:
        raise _unlike(url, f"cannot be checked: {error}", keep=keep) from error
    if differences := saved.other_rows(restored):
        raise _unlike(url, f"is not what was saved: {_first(differences)}.", keep=keep)
    if differences := saved.other_searches(restored):
        raise DatabaseError(
            "What was restored has the saved rows, all of them, but searches find something else:"
            f" {_first(differences)}. It was kept: compare the versions of ragkit and pgvector with"
            " those that saved it, and try searches before you rely on it."
        )
    return restored


def _unlike(url: str, problem: str, *, keep: bool) -> DatabaseError:
    """Make an error of a problem with the restored rows, which are dropped unless `keep`."""
    if keep:
        return DatabaseError(f"What was restored {problem} It was kept, as --keep has it.")
    try:
        with connect(url) as conn:
            clear(conn)
    except DatabaseError as error:
        return DatabaseError(
            f"What was restored {problem} It could not be taken out again, and is still there:"
            f" {error}"
        )
    return DatabaseError(
        f"What was restored {problem} The database is empty again: restore another backup, or"
        " this one with --keep, which leaves it as it comes."
    )


def _first(differences: list[str]) -> str:
    remaining = f"; and {len(differences) - 5} more" if len(differences) > 5 else ""
    return "; ".join(differences[:5]) + remaining


def _restored(url: str) -> Content:
    """Look at what was restored, and bring its schema up to date."""
    with connect(url) as conn:
        with _snapshot(conn) as cursor:
            tables = content(cursor, searched=False).tables
        migrate(conn)
        with _snapshot(conn) as cursor:
            return Content(tables, content(cursor).searches)


def read_content(folder: Path) -> Content:
    """Read what a backup says that it holds. Raises UsageError."""
    try:
        saved = json.loads((folder / "check.json").read_text(encoding="utf-8"))
        tables = {name: (int(rows), str(code)) for name, (rows, code) in saved["tables"].items()}
        if saved["format"] != FORMAT or not (folder / "database.dump").is_file():
            raise ValueError("another format")
        return Content(tables, saved["searches"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{folder} is no backup that this ragkit can read: name a folder that"
            " `ragkit db backup` made."
        ) from error


def content(cursor: Cursor[Any], *, searched: bool = True) -> Content:
    """Count and hash every table, and search for some of the passages, in the cursor's snapshot."""
    names = _table_names(cursor.connection)
    tables: dict[str, tuple[int, str]] = {}
    for name in names:
        row = cursor.execute(sql.SQL(_CONTENT).format(sql.Identifier(name))).fetchone()
        assert row is not None
        tables[name] = (int(row[0]), str(row[1]))
    return Content(tables, dict(_searches(cursor)) if searched else {})


def _table_names(conn: Connection[Any]) -> list[str]:
    """Name the tables of the schema, in their order."""
    return [str(name) for (name,) in conn.execute(_TABLES).fetchall()]


def _searches(cursor: Cursor[Any]) -> Iterator[tuple[str, list[int]]]:
    """Search for sampled passages by their words, and by their vectors in every space."""
    from ragkit.retrieve.words.search import search_words
    from ragkit.store import vectors
    from ragkit.store.documents import documents
    from ragkit.store.reader import PostgresReader
    from ragkit.store.session import session_on
    from ragkit.types import EmbeddingSpace

    rows = cursor.execute(_SPACES).fetchall()
    spaces = [(int(number), EmbeddingSpace(*row)) for number, *row in rows]
    for tenant, collection, chunk, text in cursor.execute(_SAMPLE, (SAMPLED,)).fetchall():
        session = session_on(cursor, tenant)
        reader = PostgresReader(session)
        name = f"{tenant}/{collection}/{chunk}"
        best = search_words(reader, collection, text, HITS).best
        yield f"{name} by words", [hit for hit, _ in best]
        number = documents.collection_id(session, collection)
        for space_id, space in spaces:
            for vector in reader.vectors(space, [chunk]).values():
                # Exact: an approximate index comes out otherwise when it is built again.
                nearest = vectors.nearest(session, space, number, vector, HITS, exact=True)
                label = f"{space.model}, {space.dimension} dimensions, space {space_id}"
                yield f"{name} by {label}", [hit for hit, _ in nearest]


@contextmanager
def _snapshot(conn: Connection[Any], *, alone: bool = False) -> Iterator[Cursor[Any]]:
    """Begin a transaction that sees one moment of all tenants; if `alone`, nobody writes."""
    import psycopg

    try:
        with conn.transaction(), conn.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL ragkit.all_tenants = 'on'")
            cursor.execute(_PATIENT)
            if alone:
                names = map(sql.Identifier, _table_names(conn))
                lock = sql.SQL("LOCK TABLE {} IN SHARE MODE").format(sql.SQL(", ").join(names))
                cursor.execute(lock)
            yield cursor
    except psycopg.Error as error:
        raise translate(error) from error


def _run(command: list[str], url: str) -> None:
    """Run one of PostgreSQL's programs on a database, whose address no other user can see."""
    from psycopg import pq
    from psycopg.conninfo import conninfo_to_dict

    parameters = conninfo_to_dict(url)
    variables = {
        option.envvar.decode(): str(parameters[option.keyword.decode()])
        for option in pq.Conninfo.get_defaults()
        if option.envvar and parameters.get(option.keyword.decode()) is not None
    }
    # Row-level security binds the owner too, who has to say that all tenants are meant. A cluster's
    # nodes get what they need when tables are distributed.
    options = f"{variables.get('PGOPTIONS', '')} -c ragkit.all_tenants=on {_NOT_TO_NODES}"
    variables["PGOPTIONS"] = options.strip()
    home = {"HOME": os.environ["HOME"]} if "HOME" in os.environ else {}  # for ~/.pgpass
    ended = find_programs().run(command, None, output=PIPE, environment=home | variables)
    if ended.returncode:
        output = ended.stdout.decode("utf-8", "replace")
        raise DatabaseError(
            f"{command[0]} failed: {reason_in(output).rstrip('.')}: mend what it names, then run it"
            " again; nothing was kept of what it wrote."
        )


def _write(path: Path, value: Mapping[str, Any]) -> None:
    with open(path, "w", encoding="utf-8", opener=private) as file:
        file.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _rows(content: tuple[int, str] | None) -> str:
    return "not there" if content is None else f"{content[0]:,} rows ({content[1][-8:]})"
