"""What pays once after many uploads: merged word indexes, the vector index, records that are old.

It knows nothing of how an upload became a document.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError

if TYPE_CHECKING:
    from ragkit.store.open import Database
    from ragkit.store.upload_worker import TakenUpload, UploadWorker

log = logging.getLogger("ragkit.worker")

_AFTER_S: Final = 3.0  # arbitrary: without work, before the indexes are seen to
_AFTER_DOCUMENTS: Final = 500  # arbitrary: where there is never a pause
_FORGET_EVERY_S: Final = 3600.0


class Tidying:
    """Sees to the indexes of the collections that have changed, when there is time for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._changed: dict[tuple[str, str], int] = {}
        self._noted = time.monotonic()
        self._forgot = float("-inf")

    def note(self, job: TakenUpload) -> None:
        """Remember a collection that has changed; see to it at once when it has changed a lot."""
        key = (job.tenant, job.collection)
        with self._lock:
            self._noted = time.monotonic()
            self._changed[key] = self._changed.get(key, 0) + 1
            if self._changed[key] < _AFTER_DOCUMENTS:
                return
            del self._changed[key]
        self._finish(*key)

    def when_idle(self, queue: UploadWorker) -> None:
        """Do what pays once after many uploads; nothing while there may be more to come."""
        with self._lock:
            now = time.monotonic()
            if now - self._noted < _AFTER_S:
                return
            changed, self._changed = self._changed, {}
            forget = now - self._forgot > _FORGET_EVERY_S
            if forget:
                self._forgot = now
        if forget:
            queue.forget_old()
        for tenant, collection in changed:
            self._finish(tenant, collection)

    def _finish(self, tenant: str, collection: str) -> None:
        try:
            store = self._database.store(tenant)
            space = store.active_space(collection)
            if space is not None:
                store.finish_load(collection, space)
        except NotFoundError:
            log.info("a collection was deleted before its indexes were seen to")
