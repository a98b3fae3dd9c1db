"""A document's versions for those who look at them: listed, and an old one taken back.

Each method is one transaction. It knows nothing of how versions are kept: see
`ragkit.store.versions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragkit.store import copies, documents, versions
from ragkit.store.lending import transaction
from ragkit.store.versions import Version
from ragkit.store.where import Readers
from ragkit.text.analysers import analyser, name_from
from ragkit.types import Document

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool


class History:
    """The versions of one tenant's documents.

    `readers` are the principals who ask: what they may not read is not there. None: an operator.
    Methods raise NotFoundError for a document that is not there.
    """

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], tenant: str, readers: Readers = None
    ) -> None:
        self._pool = pool
        self._tenant = tenant
        self._readers = readers

    def of(self, document: int) -> Sequence[Version]:
        """List a document's versions, the current one first; an old one's number is as good."""
        with transaction(self._pool, self._tenant) as cursor:
            documents.document(cursor, self._tenant, document, self._readers)
            return versions.versions(cursor, self._tenant, document, self._readers)

    def restore(self, document: int, version: int) -> Document:
        """Make an old version of a document its current one again, as a new version.

        Nothing is embedded for it. What was current is kept, however many versions there are then.
        Raises NotFoundError for a version that was not kept, UsageError for one of another
        embedding model than the collection's.
        """
        tenant, readers = self._tenant, self._readers
        with transaction(self._pool, tenant) as cursor:
            name = documents.document(cursor, tenant, document, readers).collection
            owner, settings = documents.collection_row(
                cursor, tenant, name, lock=True, readers=readers
            )
            documents.lock_document(cursor, tenant, owner, document, readers)
            versions.restore(
                *(cursor, tenant, owner, document, version),
                analyse=analyser(name_from(settings)),
            )
            copies.drop_stale(cursor, tenant, [document])
            return documents.document(cursor, tenant, document, readers)
