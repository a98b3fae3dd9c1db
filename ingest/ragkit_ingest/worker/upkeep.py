"""Upkeep after many documents: merged word indexes, the vector index, records past their time."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError
from ragkit.store.jobs.queue import forget_ended_uploads

if TYPE_CHECKING:
    from ragkit.store.open import Database

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

    def note(self, tenant: str, collection: str, documents: int) -> None:
        """Note a collection in which documents have changed; see to many at once."""
        key = (tenant, collection)
        with self._lock:
            self._noted = time.monotonic()
            self._changed[key] = self._changed.get(key, 0) + documents
            if self._changed[key] < _AFTER_DOCUMENTS:
                return
            del self._changed[key]
        self._finish(*key)

    def is_due(self) -> bool:
        """Tell whether there is something to do, and nothing has come for a while."""
        with self._lock:
            moment = time.monotonic()
            has_work = bool(self._changed) or moment - self._forgot > _FORGET_EVERY_S
            return has_work and moment - self._noted >= _AFTER_S

    def finish(self) -> None:
        """See to all collections that have changed."""
        with self._lock:
            moment = time.monotonic()
            changed, self._changed = self._changed, {}
            does_forget = moment - self._forgot > _FORGET_EVERY_S
            if does_forget:
                self._forgot = moment
        if does_forget:
            forget_ended_uploads(self._database.pool)
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
