"""For whom the database is asked: tenant and principal travel with every statement.

Each connection says so in its settings ragkit.tenant and ragkit.principal, which row-level security
and the server's own log can go by. Statements name the tenant besides; this is a second lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from psycopg_pool import ConnectionPool

if TYPE_CHECKING:
    from psycopg import Connection

NOBODY: Final = ("", "")
_SAY: Final = (
    "SELECT set_config('ragkit.tenant', %s, false), set_config('ragkit.principal', %s, false)"
)
_acting: ContextVar[tuple[str, str]] = ContextVar("acting", default=NOBODY)


def act_for(tenant: str, principal: str) -> None:
    """Ask the database for somebody from here on: in this thread, task, or copied context."""
    _acting.set((tenant, principal))


class ActingPool(ConnectionPool["Connection[Any]"]):
    """A pool whose connections say for whom they are lent."""

    @contextmanager
    def connection(self, timeout: float | None = None) -> Iterator[Connection[Any]]:
        with super().connection(timeout) as conn:
            who = _acting.get()
            if getattr(conn, "ragkit_acting", NOBODY) != who:
                conn.execute(_SAY, who)
                conn.ragkit_acting = who  # type: ignore[attr-defined]
            yield conn
