"""Fetch one page from the open internet, within limits on size and time.

The address that is checked is the address that is connected to, for each redirect anew: names are
resolved once, here. httpcore speaks HTTP; it keeps no cookies, reads no environment and follows
nothing by itself.
"""

from __future__ import annotations

import re
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from ragkit.errors import IngestError
from ragkit_ingest.sources.address import Address, is_public, read_url

if TYPE_CHECKING:
    import httpcore

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_GZIP: Final = 16 + zlib.MAX_WBITS
_PIECE_BYTES: Final = 1 << 16
_CHARSET: Final = re.compile(r"(?:^|[;\s])charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.I)


def resolve(host: str, port: int) -> list[str]:
    """Ask the system for a host's addresses."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in addresses))


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How pages are reached, and what one may take. The limits are arbitrary.

    `is_allowed` says of an address, in numbers, whether it may be connected to.
    """

    is_allowed: Callable[[str], bool] = is_public
    resolve: Callable[[str, int], list[str]] = resolve
    ports: frozenset[int] = frozenset({80, 443})
    max_bytes: int = 32 << 20  # unpacked
    max_redirects: int = 5
    connect_s: float = 10
    silence_s: float = 20
    total_s: float = 60


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page as it came, and the URL that it came from in the end.

    `charset` is what the server says, which is nothing to rely on.
    """

    url: str
    media_type: str
    data: bytes
    charset: str = ""


def fetch(url: str, access: Access | None = None) -> Fetched:
    """Fetch a page. Raises IngestError("read", reason) whenever there is none to be had."""
    import httpcore

    from ragkit_ingest.sources.connection import Public

    access = access or Access()
    until = time.monotonic() + access.total_s
    address = read_url(url, ports=access.ports)
    try:
        with httpcore.ConnectionPool(
            network_backend=Public(access, until), max_connections=1, max_keepalive_connections=0
        ) as pool:
            for _ in range(access.max_redirects + 1):
                answer = _ask(pool, address, access)
                if isinstance(answer, Fetched):
                    return answer
                address = answer
    except httpcore.TimeoutException as error:
        raise IngestError("read", _too_slow(access, until)) from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        message = " ".join(str(error).split())[:200]
        raise IngestError("read", f"the server cannot be reached, or failed: {message}") from error
    raise IngestError("read", f"more than {access.max_redirects} redirects")


def _ask(pool: httpcore.ConnectionPool, address: Address, access: Access) -> Fetched | Address:
    """Ask for a page; return it, or where it has gone to."""
    import httpcore

    from ragkit import __version__

    timeout = {
        "connect": access.connect_s,
        "read": access.silence_s,
        "write": access.silence_s,
        "pool": access.silence_s,
    }
    with pool.stream(
        "GET",
        httpcore.URL(
            scheme=address.scheme, host=address.host, port=address.port, target=address.target
        ),
        headers={
            "Accept": "text/html, application/xhtml+xml, text/plain, */*;q=0.5",
            "Accept-Encoding": "gzip",
            "User-Agent": f"ragkit/{__version__}",
        },
        extensions={"timeout": timeout},
    ) as response:
        headers = {name.lower(): value for name, value in response.headers}
        if response.status in _REDIRECTS and b"location" in headers:
            return _next(address, headers[b"location"], access)
        if response.status != 200:
            reason = response.extensions.get("reason_phrase", b"").decode("latin-1")[:100]
            raise IngestError("read", f"the server answered {response.status} {reason}".rstrip())
        media_type, _, parameters = (
            headers.get(b"content-type", b"").decode("latin-1").partition(";")
        )
        charset = _CHARSET.search(parameters)
        encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
        data = b"".join(_unpacked(response.iter_stream(), encoding, access.max_bytes))
        declared = charset[1] if charset else ""
        return Fetched(str(address), media_type.strip().lower(), data, declared)


def _next(address: Address, location: bytes, access: Access) -> Address:
    """Read where a redirect leads, as strictly as what the user named."""
    try:
        url = urljoin(str(address), location.decode())
    except ValueError as error:
        raise IngestError("read", "a redirect to what is no address") from error
    try:
        return read_url(url, ports=access.ports)
    except IngestError as error:
        raise IngestError("read", f"a redirect to a bad address: {error.reason}") from error


def _unpacked(pieces: Iterator[bytes], encoding: str, max_bytes: int) -> Iterator[bytes]:
    """Undo a compression, of which only gzip is asked for, and stop where it gets too large."""
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise IngestError("read", f"the server packed it as {encoding[:50]!r}, unasked")
    unpack = zlib.decompressobj(_GZIP) if encoding.endswith("gzip") else None
    size = 0
    for piece in pieces:
        remaining = piece
        while remaining:
            part, remaining = _part(unpack, remaining)
            size += len(part)
            if size > max_bytes:
                raise IngestError("read", f"larger than a page may be, {max_bytes >> 20} MB")
            yield part
    if unpack is not None and not unpack.eof and size:
        raise IngestError("read", "what the server packed is cut off")


def _part(unpack: zlib._Decompress | None, data: bytes) -> tuple[bytes, bytes]:
    """Return the next part, of bounded size, and what is still packed."""
    if unpack is None:
        return data, b""
    if unpack.eof:
        return b"", b""  # what follows the end is not the page
    try:
        return unpack.decompress(data, _PIECE_BYTES), unpack.unconsumed_tail
    except zlib.error as error:
        raise IngestError("read", "what the server packed is damaged") from error


def _too_slow(access: Access, until: float) -> str:
    if time.monotonic() >= until:
        return f"it took longer than {access.total_s:g} s in all"
    return f"no answer: none within {access.connect_s:g} s, or silence for {access.silence_s:g} s"
