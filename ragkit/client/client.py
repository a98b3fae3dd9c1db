"""The synchronous client of `ragkit serve`, which several threads may share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ragkit.client.connection import Connection
from ragkit.client.conversations import Conversations
from ragkit.client.documents import Documents
from ragkit.client.questions import Questions

if TYPE_CHECKING:
    import httpx


class Client(Questions, Documents, Conversations):
    """A client of the ragkit server at `base_url`, with an access key where it asks for one.

    >>> with Client("http://127.0.0.1:8080") as client:  # doctest: +SKIP
    ...     print(client.ask("How many days of leave do I have?").text)

    `timeout_s` bounds each silence of the server, not a complete answer. What is safe to send again
    is tried up to four times. Every method raises ServerError for a server that fails,
    OverloadedError for one that is full, and AccessError for what the key may not do; the message
    is the server's. `transport` is for tests.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8080",
        api_key: str | None = None,
        *,
        timeout_s: float = 120.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._server = Connection(base_url, api_key, timeout_s=timeout_s, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._server.base_url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._server.close()
