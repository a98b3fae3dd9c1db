"""The state of watched files between two passes, so that a pass reads only files that changed.

A file with the same stamp, whose content the store still has, is not opened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from ragkit_ingest.run.report import Failure
from ragkit_ingest.run.steps import read
from ragkit_ingest.run.unpacking import unpacked

if TYPE_CHECKING:
    from ragkit_ingest.parser.pool import ParserPool
    from ragkit_ingest.run.steps import Steps
    from ragkit_ingest.run.tally import Tally
    from ragkit_ingest.sources.item import Item, Stamp

_GROUP: Final = 1000  # asked of the store together: a thousand URIs take it milliseconds
# A file that is written again at once, after it was read, may keep its stamp: clocks of file
# systems tick every 4 ms (ext4), every second (NFS 2, HFS+) or every other one (FAT). So a stamp is
# believed only if the file was read at least so long after the stamp was first seen.
_TICK_S: Final = 2.0
# Or if it is so old that no tick was still going on. The clock that stamped it may be a file
# server's, which is wrong by less, as a rule.
_OLD_S: Final = 3600.0
# At these stages the same content fails again in the same way; whatever else may be over.
_LASTING: Final = frozenset({"parse", "chunk"})

Known = Callable[[list[str]], Mapping[str, tuple[str, str]]]  # by URI: content hash, fingerprint


@dataclass(slots=True)
class _FileState:
    """The state of a file: its stamp, since when it has it, and the hashes of its items by URI."""

    stamp: Stamp
    since_s: float
    is_sure: bool
    hashes: dict[str, str] | None = field(default_factory=dict)  # None: it could not be read


class WatchState:
    """The state of one watch over its passes; `clock` and `steady` return the time in seconds."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._steady = steady
        self._previous: dict[str, _FileState] = {}
        self._current: dict[str, _FileState] = {}
        self._fingerprint = ""  # fingerprint
        self.failures: tuple[Failure, ...] = ()

    def begin(self, steps: Steps) -> None:
        """Begin a pass; other options or models make failed files be tried again."""
        if self._fingerprint not in {"", steps.fingerprint}:
            self.failures = ()
        self._fingerprint = steps.fingerprint
        self._current = {}

    def end(self, failures: tuple[Failure, ...]) -> bool:
        """End a pass; return whether other files failed than in the previous one."""
        self._previous, self._current = self._current, {}
        previous, self.failures = self.failures, failures
        return previous != failures

    def changed(
        self,
        files: Iterable[Item],
        steps: Steps,
        hashes_of: Known,
        failed: Mapping[str, str],
        tally: Tally,
    ) -> Iterator[Item]:
        """Yield the files to be read, and count the items of the others as unchanged.

        `failed` maps URIs to content that failed by the ledger: it counts as failed untried.
        """
        remaining = iter(files)
        lasting = {failure.uri: failure for failure in self.failures if failure.stage in _LASTING}
        while group := [(item, self._state_of(item)) for item in islice(remaining, _GROUP)]:
            unchanged = [state.hashes for _, state in group if state and state.hashes]
            stored = hashes_of([uri for hashes in unchanged for uri in hashes]) if unchanged else {}
            for item, state in group:
                if state is None or state.hashes is None:
                    yield item
                    continue
                bad = [
                    lasting[uri]
                    for uri, content in state.hashes.items()
                    if uri in lasting and failed.get(uri) == content
                ]
                good = [
                    uri
                    for uri, content in state.hashes.items()
                    if steps.is_current(uri, content, stored)
                ]
                if len(good) + len(bad) < len(state.hashes):
                    yield item
                    continue
                self._current[item.uri] = state
                tally.saw(state.hashes)
                tally.count(unchanged=len(good))
                for failure in bad:
                    tally.failed(failure.uri, failure.stage, failure.reason)

    def unpack(self, files: Iterable[Item], parsers: ParserPool, max_bytes: int) -> Iterator[Item]:
        """Unpack files that are to be read, and note the hashes of their items."""
        for file in files:
            state = self._current.get(file.uri)
            for item in unpacked([file], parsers, max_bytes):
                yield item if state is None else replace(item, read=_read_and_note(item, state))

    def _state_of(self, item: Item) -> _FileState | None:
        """Return the previous state of a file that has surely not changed, without opening it."""
        stamp = item.stamp()
        if stamp is None:
            return None
        time_s = self._steady()
        previous = self._previous.get(item.uri)
        unchanged = previous if previous is not None and previous.stamp == stamp else None
        if unchanged is not None and unchanged.is_sure:
            self._current[item.uri] = _FileState(stamp, unchanged.since_s, is_sure=True)
            return unchanged
        since_s = time_s if unchanged is None else unchanged.since_s
        is_old = stamp.changed_at is not None and self._clock() - stamp.changed_at > _OLD_S
        is_sure = stamp.is_exact or is_old or time_s - since_s >= _TICK_S
        self._current[item.uri] = _FileState(stamp, since_s, is_sure=is_sure)
        return None


def _read_and_note(item: Item, state: _FileState) -> Callable[[int], bytes]:
    """Return a reader that notes an item's hash, or that the item could not be read."""

    def read_and_note(max_bytes: int) -> bytes:
        source = read(item, max_bytes=max_bytes)
        if source.error is not None:
            state.hashes = None
            raise source.error
        if state.hashes is not None:
            state.hashes[item.uri] = source.content_hash
        return source.data

    return read_and_note
