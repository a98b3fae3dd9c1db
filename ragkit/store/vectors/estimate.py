"""Estimate how many of a collection's rows a search may find, by judging a few documents.

These are evenly spread over the documents' numbers, so the estimate is the same every time, and it
is cached for a while: it decides how a search is done.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from math import log2
from time import monotonic
from typing import TYPE_CHECKING, Final

from psycopg.sql import SQL

if TYPE_CHECKING:
    from ragkit.store.documents.filter_sql import Restriction
    from ragkit.store.session import Session

# A share of 5% is then known to within about 3%, where both plans cost alike; 0.5 ms.
SAMPLED: Final = 64
SAMPLED_OF_ROWS: Final = 100_000  # of more, more: a wrong plan costs more
REMEMBERED_S: Final = 60  # at most
_SAMPLE: Final = SQL("""
    SELECT count(*) FILTER (WHERE {} AND EXISTS (SELECT FROM visible_document v
            WHERE v.tenant = d.tenant AND v.id = d.id)), count(*) FROM (
        SELECT first + (last - first) * n / {sampled} AS at
        FROM generate_series(0, {sampled}) AS n, (
            SELECT min(id) AS first, max(id) AS last FROM document
            WHERE tenant = %(tenant)s AND collection_id = %(collection)s) AS ends OFFSET 0) AS probe
    CROSS JOIN LATERAL (
        SELECT * FROM document
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND id >= at
        ORDER BY id LIMIT 1) AS d
""")


def estimate(session: Session, collection: int, where: Restriction, rows: int) -> int:
    """Estimate how many of a collection's `rows` are of visible documents that `where` leaves."""
    values = {**where.values, "collection": collection}
    condition = where.condition.as_string(None)
    server = session.cursor.connection.pgconn
    database = (server.host, server.port, server.db)
    question = hash((condition, session.tenant, session.readers, repr(values)))  # may be long
    shares = _cached(database, question, rows, monotonic() // REMEMBERED_S)
    if not shares:
        statement = _sample(condition, _sampled(rows))
        row = session.execute(statement, values, prepare=True).fetchone()
        assert row is not None
        matches, judged = row
        shares.append(matches / max(1, judged))
    return int(rows * shares[0])


@lru_cache(maxsize=4096)
def _cached(*key: Hashable) -> list[float]:
    """Return the list that the share of such a question is kept in, empty at first."""
    return []


def _sampled(rows: int) -> int:
    """Tell how many documents to judge: as the square root of the rows, by powers of two.

    >>> _sampled(1_000), _sampled(1_000_000), _sampled(10_000_000)
    (64, 128, 512)
    """
    return SAMPLED << max(0, int(log2(max(1, rows) / SAMPLED_OF_ROWS) / 2))


@lru_cache(maxsize=256)
def _sample(condition: str, sampled: int) -> bytes:
    return _SAMPLE.format(SQL(condition), sampled=SQL(str(sampled))).as_bytes(None)
