"""Tenants kept apart by row-level security: the role that programs run as, and its checks.

The policies themselves are in migration 13. Knows nothing of what the tables hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import DatabaseError
from ragkit.store.connection.rows import first_value

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

RUNTIME: Final = "ragkit_runtime"  # the role that an embedded database is used as

# Tables of no tenant: what models there are and how their vectors lie, sign-ons not yet finished.
SHARED: Final = ("embedding_space", "login_begun", "vector_layout")
READ_ONLY: Final = ("ragkit_migration",)
VIEWS: Final = ("visible_collection", "visible_document", "visible_chunk")

_SECURE: Final = "SELECT ragkit_secure_table(%s::regclass)"
# pg_has_role is true of a superuser for every role, so that one is asked for first.
_ROLE: Final = """
    SELECT r.rolsuper, r.rolbypassrls, r.rolcreaterole,
        (SELECT min(o.rolname) FROM pg_roles o
            WHERE (o.rolsuper OR o.rolbypassrls) AND o.oid <> r.oid
                AND pg_has_role(r.oid, o.oid, 'MEMBER')),
        (SELECT min(t::text) FROM ragkit_tenant_tables() t JOIN pg_class c ON c.oid = t
            WHERE pg_has_role(r.oid, c.relowner, 'MEMBER'))
    FROM pg_roles r WHERE r.rolname = %s
"""
_TABLES: Final = """
    SELECT min(t::text) FILTER (WHERE NOT (c.relrowsecurity AND (c.relforcerowsecurity
            OR coalesce(current_setting('citus.propagate_set_commands', true), '') = 'local')
            AND EXISTS (SELECT FROM pg_policy WHERE polrelid = t AND polname = 'tenant'))),
        min(t::text) FILTER (WHERE has_table_privilege(%(role)s, t, 'TRUNCATE')),
        min(t::text) FILTER (WHERE NOT (has_table_privilege(%(role)s, t, 'SELECT')
            AND has_table_privilege(%(role)s, t, 'INSERT')
            AND has_table_privilege(%(role)s, t, 'UPDATE')
            AND has_table_privilege(%(role)s, t, 'DELETE')))
    FROM ragkit_tenant_tables() t JOIN pg_class c ON c.oid = t
"""
# What is said of each column of the two above that is not false or NULL, the worst first.
_FLAWS: Final = (
    "it is a superuser, whom no policy binds",
    "it has BYPASSRLS, so that no policy binds it",
    "it has CREATEROLE, and could make itself a member of others",
    "it is a member of {}, whom no policy binds",
    "it owns the table {}, or is a member of its owner, and could lift the policy",
    "the table {} has no row-level security",
    "it may TRUNCATE {}, which no policy stops",
    "it may not use the table {}",
)
_SEQUENCES: Final = """
    SELECT c.oid::regclass::text FROM pg_class k
    JOIN pg_class c ON c.relnamespace = k.relnamespace AND c.relowner = k.relowner
    WHERE k.oid = 'access_key'::regclass AND c.relkind = 'S'
"""
_FUNCTIONS: Final = """
    SELECT p.oid::regprocedure::text FROM pg_class k
    JOIN pg_proc p ON p.pronamespace = k.relnamespace AND p.proowner = k.relowner
    WHERE k.oid = 'access_key'::regclass AND p.prosecdef AND p.proname LIKE 'ragkit\\_%'
"""


def secure_table(cursor: Cursor[Any], table: str) -> None:
    """Give a table made at run time its policy and grants; it has a column `tenant`.

    Needs the owner of the tables.
    """
    cursor.execute(_SECURE, (table,))


def enforced(cursor: Cursor[Any]) -> bool:
    """Tell whether row-level security is in force for this connection's role."""
    return bool(first_value(cursor, "SELECT row_security_active('collection')"))


def weakness(cursor: Cursor[Any], role: str) -> str | None:
    """Say why a role cannot be what programs run as while tenants are on; None when it can."""
    found = cursor.execute(_ROLE, (role,)).fetchone()
    if found is None:
        return "there is no such role"
    tables = cursor.execute(_TABLES, {"role": role}).fetchone()
    assert tables is not None
    for flaw, said in zip((*found, *tables), _FLAWS, strict=True):
        if flaw:
            return said.format(flaw)
    return None


def check(conn: Connection[Any]) -> None:
    """Raise DatabaseError, one line with the remedy, unless tenants are kept apart on `conn`."""
    import psycopg

    try:
        with conn.cursor() as cursor:
            problem = weakness(cursor, first_value(cursor, "SELECT session_user"))
    except psycopg.Error as error:
        problem = " ".join((error.diag.message_primary or str(error)).split())
    if problem is not None:
        role = conn.info.user
        raise DatabaseError(
            f"Tenants are on, and the database cannot be used as the role {role!r}: {problem}:"
            " name a role of its own in RAGKIT_DATABASE_URL, the tables' owner in"
            " RAGKIT_DATABASE_OWNER_URL, and run `ragkit db prepare`."
        )


def prepare(
    conn: Connection[Any], role: str, password: str | None = None, *, enforce: bool
) -> list[str]:
    """Make a role that programs run as, grant it what it needs, and say what was done.

    `conn` is the tables' owner's, the schema current. With `enforce` the policies are put in
    force. Does nothing twice. Raises DatabaseError.
    """
    import psycopg

    from ragkit.store.connection.migrate import LOCK

    try:
        with conn.transaction(), conn.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            done = _made(cursor, role, password)
            if enforce:
                cursor.execute("SELECT ragkit_enforce()")
                done.append("row-level security is in force on every table with tenants' rows")
            done += _granted(cursor, role)
            problem = weakness(cursor, role) if enforce else None
            if problem is not None:
                raise DatabaseError(
                    f"The role {role!r} cannot be what programs run as: {problem}: name another"
                    " in RAGKIT_DATABASE_URL."
                )
    except psycopg.Error as error:
        said = " ".join((error.diag.message_primary or str(error)).split())
        raise DatabaseError(
            f"The role {role!r} could not be prepared: {said}: see that"
            " RAGKIT_DATABASE_OWNER_URL names the owner of ragkit's tables."
        ) from error
    return done


def _made(cursor: Cursor[Any], role: str, password: str | None) -> list[str]:
    """Make the role unless it is there."""
    from psycopg import sql

    if cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is not None:
        return [f"the role {role} is there"]
    may = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    if not first_value(cursor, may):
        raise DatabaseError(
            f"There is no role {role!r}, and the owner may not make one: have an administrator run"
            f" CREATE ROLE {sql.Identifier(role).as_string(None)} LOGIN PASSWORD '...', then try"
            " again."
        )
    statement = sql.SQL(
        "CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB"
    ).format(sql.Identifier(role))
    if password:  # as its hash: statements may stand in the server's log
        pgconn = cursor.connection.pgconn
        secret = pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
        statement += sql.SQL(" PASSWORD {}").format(sql.Literal(secret.decode()))
    cursor.execute(statement)
    return [f"made the role {role}"]


def _granted(cursor: Cursor[Any], role: str) -> list[str]:
    """Grant what a program needs to run: rows, sequences and functions; no table is its own."""
    from psycopg import sql

    to = sql.Identifier(role)
    tables = _names(cursor, "SELECT t::text FROM ragkit_tenant_tables() t")
    where = (
        "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'access_key'::regclass"
    )
    grants = [f"USAGE ON SCHEMA {first_value(cursor, where)}"]
    grants += [f"SELECT, INSERT, UPDATE, DELETE ON {name}" for name in (*tables, *SHARED)]
    grants += [f"SELECT ON {name}" for name in READ_ONLY]
    grants += [f"SELECT, UPDATE ON {name}" for name in VIEWS]  # UPDATE: rows are locked by them
    grants += [f"USAGE ON SEQUENCE {name}" for name in _names(cursor, _SEQUENCES)]
    grants += [f"EXECUTE ON FUNCTION {name}" for name in _names(cursor, _FUNCTIONS)]
    for name in _names(cursor, _SEQUENCES):  # a migration may have granted more than is needed
        cursor.execute(sql.SQL("REVOKE ALL ON SEQUENCE {} FROM {}").format(sql.SQL(name), to))
    for grant in grants:  # the catalogue's own names, quoted where need be
        cursor.execute(sql.SQL("GRANT {} TO {}").format(sql.SQL(grant), to))
    return [
        f"{role} may read and write rows of {len(tables) + len(SHARED)} tables, and alter none",
        f"{role} may call the functions that look across tenants",
    ]


def _names(cursor: Cursor[Any], query: str) -> Sequence[str]:
    return [str(name) for (name,) in cursor.execute(query.encode())]
