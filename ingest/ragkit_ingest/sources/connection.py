"""Connections to allowed addresses alone, for httpcore: resolved once, pinned, checked, timed."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import httpcore

from ragkit.errors import IngestError

if TYPE_CHECKING:
    from ragkit_ingest.sources.fetch import Access


class Public(httpcore.NetworkBackend):
    """Connects to hosts all of whose addresses may be connected to, until a point in time."""

    def __init__(
        self, access: Access, until: float, *, backend: httpcore.NetworkBackend | None = None
    ) -> None:
        self._access = access
        self._until = until
        self._backend = backend or httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to a host by an address that was checked; the name is not looked up again."""
        addresses = self._addresses(host, port)
        for place, address in enumerate(addresses, 1):
            try:
                stream = self._backend.connect_tcp(
                    address, port, _remaining_s(self._until, timeout), None, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if place == len(addresses):
                    raise
                continue
            self._check(stream, address)
            return _Timed(stream, self._until)
        raise IngestError("read", f"{host} has no address")

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Refuse: a socket of this machine is not on the internet."""
        raise IngestError("read", "not a web address")

    def _addresses(self, host: str, port: int) -> list[str]:
        try:
            addresses = self._access.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise IngestError("read", f"the name {host} is not known to DNS") from error
        for address in addresses:
            if not self._access.is_allowed(address):
                way = "" if address == host else f"leads to {address}, which "
                raise IngestError("read", f"{host} {way}is not on the open internet")
        return addresses

    def _check(self, stream: httpcore.NetworkStream, address: str) -> None:
        """Ask the socket itself who is on its other end, before anything is said to it."""
        peer = str((stream.get_extra_info("server_addr") or ("nobody",))[0])
        if peer != address or not self._access.is_allowed(peer):
            stream.close()
            raise IngestError("read", f"the connection leads to {peer}, not to {address}")


class _Timed(httpcore.NetworkStream):
    """A connection that ends at a point in time, however steadily it drips."""

    def __init__(self, stream: httpcore.NetworkStream, until: float) -> None:
        self._stream = stream
        self._until = until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining_s(self._until, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _remaining_s(self._until, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        remaining = _remaining_s(self._until, timeout)
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, remaining), self._until)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _remaining_s(until: float, timeout: float | None) -> float:
    """Return how long something may take. Raises ReadTimeout when the time is over."""
    remaining = until - time.monotonic()
    if remaining <= 0:
        raise httpcore.ReadTimeout("the time is over")
    return remaining if timeout is None else min(remaining, timeout)
