"""A web page named by the user, without the pages that it links to.

robots.txt, which speaks to programs that follow links, is not asked.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from ragkit.documents.formats import suffix_of
from ragkit.errors import IngestError
from ragkit_ingest.parse import CONTAINERS, MEDIA_TYPES
from ragkit_ingest.parse.html.charset import marked
from ragkit_ingest.sources.item import Item
from ragkit_ingest.sources.items_of_file import (
    RECORD_SUFFIXES,
    File,
    Taking,
    broken,
)
from ragkit_ingest.sources.options import SourceOptions
from ragkit_ingest.sources.sizes import in_hand

if TYPE_CHECKING:
    from ragkit_ingest.sources.fetch import Access, Fetched

# Beside those that name one format each: what servers say for want of something better.
_VAGUE: Final = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream"})
# What the charset that a server gives is about, where nothing is said by the text itself.
_TEXTS: Final = frozenset({"text/html", "application/xhtml+xml", "text/plain", "text/markdown"})
# Arbitrary; --watch looks every few seconds, and no server wants to be asked that often.
_KEPT_S: Final = 600
_ALSO: Final = {
    "application/zip": ".zip",
    "application/x-zip-compressed": ".zip",
    "text/x-markdown": ".md",
    "application/jsonl": ".jsonl",
    "application/vnd.apache.parquet": ".parquet",
}


class Page:
    """A page as a place that things are taken from; kept for a while for whoever asks again."""

    def __init__(self, url: str, options: SourceOptions, access: Access | None) -> None:
        self._url = self.root = url
        self._title = options.title
        self._access = access
        self._kept: Fetched | IngestError | None = None
        self._kept_until = 0.0

    def items(self, taking: Taking) -> Iterator[Item]:
        """Yield the page, by the URL that it came from in the end."""
        try:
            fetched = self._fetched()
            suffix = _suffix(fetched, has_records=taking.options.records is not None)
        except IngestError as error:
            taking.passed.lose(self._url)
            yield broken(self._url, error.reason)
            return
        path = unquote(urlsplit(fetched.url).path).rstrip("/")
        name = path.rpartition("/")[2] or urlsplit(fetched.url).netloc
        data = _read_as_said(fetched, suffix)
        file = File(fetched.url, name, in_hand(data), partial(io.BytesIO, data), suffix)
        yield from taking.items(file, title=self._title)

    def covers(self, uri: str) -> bool:
        """Nothing: a page that is not answered today may be there tomorrow."""
        return False

    def _fetched(self) -> Fetched:
        from ragkit_ingest.sources.fetch import fetch

        if self._kept is None or time.monotonic() > self._kept_until:
            try:
                self._kept = fetch(self._url, self._access)
            except IngestError as error:
                self._kept = error
            self._kept_until = time.monotonic() + _KEPT_S
        if isinstance(self._kept, IngestError):
            raise self._kept
        return self._kept


def _read_as_said(fetched: Fetched, suffix: str) -> bytes:
    """Return a page's bytes, brought to UTF-8 where the server says which charset they are in."""
    if fetched.media_type not in _TEXTS or suffix in RECORD_SUFFIXES | CONTAINERS.keys():
        return fetched.data
    return marked(fetched.data, fetched.charset) if fetched.charset else fetched.data


def _suffix(fetched: Fetched, *, has_records: bool) -> str:
    """Tell a page's format by what the server says, or by its name where that says nothing."""
    media_type = fetched.media_type
    suffixes = MEDIA_TYPES.keys() | CONTAINERS.keys() | (RECORD_SUFFIXES if has_records else set())
    by_name = suffix_of(unquote(urlsplit(fetched.url).path))
    if media_type in _VAGUE and by_name in suffixes:
        return by_name
    by_type = next(
        (suffix for suffix, known_type in MEDIA_TYPES.items() if known_type == media_type), ""
    )
    suffix = by_type or _ALSO.get(media_type, "")
    if suffix not in suffixes:
        raise IngestError(
            "read", f"a page of type {media_type[:100] or 'unknown'}, which is not read"
        )
    return suffix
