"""A document's versions for those who look at them: listed, and an old one restored.

Each method is one session. How versions are kept is in `ragkit.store.documents.versions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragkit.store.documents import copies, documents, versions
from ragkit.store.documents.versions import Version
from ragkit.store.session import TenantSessions
from ragkit.text.analysers import analyser, name_from
from ragkit.types import Document


class History(TenantSessions):
    """The versions of one tenant's documents, for these readers; None: an operator.

    Methods raise NotFoundError for a document that is not visible.
    """

    def of(self, document: int) -> Sequence[Version]:
        """List a document's versions, the current one first; the number may be an old one's."""
        with self._session() as session:
            documents.document(session, document)
            return versions.versions(session, document)

    def restore(self, document: int, version: int) -> Document:
        """Make an old version of a document its current one again, as a new version.

        Nothing is embedded for it. The version that was current is kept, however many versions
        there are then. Raises NotFoundError for a version that was not kept, UsageError for one of
        another embedding model than the collection's.
        """
        with self._session() as session:
            name = documents.document(session, document).collection
            collection, settings = documents.collection_row(session, name, lock=True)
            documents.lock_document(session, collection, document)
            analyse = analyser(name_from(settings))
            versions.restore(session, collection, document, version, analyse=analyse)
            copies.drop_stale(session, [document])
            return documents.document(session, document)
