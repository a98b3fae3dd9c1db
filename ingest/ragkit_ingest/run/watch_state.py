"""What the last look at the same places saw, so that the next one reads only what has changed.

A file whose stamp is as it was, and whose content the store still has, is not opened. It knows
nothing of how files are found or taken in.
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
class _Seen:
    """A file as it was: its stamp, since when, and what was read of it, by URI."""

    stamp: Stamp
    since_s: float
    is_sure: bool
    hashes: dict[str, str] | None = field(default_factory=dict)  # None: it could not be read


class Looks:
    """The looks of one watch, one after the other; `clock` and `steady` tell the time."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._steady = steady
        self._before: dict[str, _Seen] = {}
        self._now: dict[str, _Seen] = {}
        self._made = ""  # fingerprint
        self.failures: tuple[Failure, ...] = ()

    def begin(self, steps: Steps) -> None:
        """Begin a look; where other options or models are in force, what failed is tried again."""
        if self._made not in {"", steps.fingerprint}:
            self.failures = ()
        self._made = steps.fingerprint
        self._now = {}

    def end(self, failures: tuple[Failure, ...]) -> bool:
        """End a look; say whether other files failed than at the one before."""
        self._before, self._now = self._now, {}
        before, self.failures = self.failures, failures
        return before != failures

    def changed(
        self,
        files: Iterable[Item],
        steps: Steps,
        known: Known,
        failed: Mapping[str, str],
        tally: Tally,
    ) -> Iterator[Item]:
        """Yield the files that are to be read; what the others hold is counted as unchanged.

        `failed` maps URIs to the content that the ledger says has failed: this fails again, without
        being tried.
        """
        rest = iter(files)
        lasting = {one.uri: one for one in self.failures if one.stage in _LASTING}
        while some := [(item, self._seen(item)) for item in islice(rest, _GROUP)]:
            same = [seen.hashes for _, seen in some if seen and seen.hashes]
            has = known([uri for hashes in same for uri in hashes]) if same else {}
            for item, seen in some:
                if seen is None or seen.hashes is None:
                    yield item
                    continue
                bad = [
                    lasting[uri]
                    for uri, content in seen.hashes.items()
                    if uri in lasting and failed.get(uri) == content
                ]
                good = [
                    uri
                    for uri, content in seen.hashes.items()
                    if _is_made(steps, has, uri, content)
                ]
                if len(good) + len(bad) < len(seen.hashes):
                    yield item
                    continue
                self._now[item.uri] = seen
                tally.saw(seen.hashes)
                tally.count(unchanged=len(good))
                for one in bad:
                    tally.failed(one.uri, one.stage, one.reason)

    def things(self, files: Iterable[Item], parsers: ParserPool, max_bytes: int) -> Iterator[Item]:
        """Unpack files that are to be read, and note what is read of them."""
        for file in files:
            seen = self._now.get(file.uri)
            for item in unpacked([file], parsers, max_bytes):
                yield item if seen is None else replace(item, read=_noting(item, seen))

    def _seen(self, item: Item) -> _Seen | None:
        """Look at a file from outside; return what is known of it if it is surely as it was."""
        stamp = item.stamp()
        if stamp is None:
            return None
        now = self._steady()
        before = self._before.get(item.uri)
        same = before if before is not None and before.stamp == stamp else None
        if same is not None and same.is_sure:
            self._now[item.uri] = _Seen(stamp, same.since_s, is_sure=True)  # if it is read anew
            return same
        since_s = now if same is None else same.since_s
        old = stamp.changed_at is not None and self._clock() - stamp.changed_at > _OLD_S
        sure = stamp.is_exact or old or now - since_s >= _TICK_S
        self._now[item.uri] = _Seen(stamp, since_s, is_sure=sure)
        return None


def _is_made(steps: Steps, has: Mapping[str, tuple[str, str]], uri: str, content: str) -> bool:
    stored, made = has.get(uri, ("", ""))
    return stored == content and made in steps.fingerprints


def _noting(item: Item, seen: _Seen) -> Callable[[int], bytes]:
    """Return what reads a thing and notes its content's hash, or that it could not be read."""

    def noting(max_bytes: int) -> bytes:
        source = read(item, max_bytes=max_bytes)
        if source.error is not None:
            seen.hashes = None
            raise source.error
        if seen.hashes is not None:
            seen.hashes[item.uri] = source.content_hash
        return source.data

    return noting
