"""Send requests to a server, and retry transient failures a bounded number of times."""

from __future__ import annotations

import asyncio
import json
import random
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from ragkit.model.server import CONNECT_TIMEOUT_S, NO_KEY, ModelServer
from ragkit.settings.hosts import is_loopback
from ragkit_eval.endpoint.failures import Failure, of_body, of_connection, of_status

if TYPE_CHECKING:
    import aiohttp

# Arbitrary: eight tries wait about a minute in total, the time in which a server restarts.
TRIES = 8
BACKOFF_S = 0.5
_MAX_BACKOFF_S = 30.0
_MAX_RETRY_AFTER_S = 300.0  # a longer Retry-After ends the tries


class Connection:
    """A pool of connections to one server, for requests with JSON bodies.

    Paths are below the API's base; with `at_root` they are below the server's root, as vLLM's own
    paths are.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        server: ModelServer,
        *,
        tries: int = TRIES,
        backoff_s: float = BACKOFF_S,
    ) -> None:
        self.server = server
        self._session = session
        self._tries = tries
        self._backoff_s = backoff_s

    async def post(
        self, path: str, body: dict[str, Any], *, at_root: bool = False
    ) -> tuple[dict[str, Any], float]:
        """Send a body; return the answer and the seconds of the last try.

        Raises ModelServerError, ServerGoneError.
        """
        for number in count(1):
            began = perf_counter()
            answer = await self.once(path, body, at_root=at_root)
            if not isinstance(answer, Failure):
                return answer, perf_counter() - began
            wait_s = self._wait_s(number, answer)
            if number >= min(answer.tries, self._tries) or wait_s > _MAX_RETRY_AFTER_S:
                raise answer.error(self.server.shown)
            await asyncio.sleep(wait_s)
        raise AssertionError("the loop above ends only by return or raise")

    async def once(
        self, path: str, body: dict[str, Any] | None = None, *, at_root: bool = False
    ) -> dict[str, Any] | Failure:
        """Send a request, a GET without a body; return the answer or the failure."""
        import aiohttp

        url, method = _join(self.server.url, path, at_root=at_root), "POST" if body else "GET"
        try:
            # Redirects are not followed, because they would get the key.
            async with self._session.request(
                method, url, json=body, allow_redirects=False
            ) as reply:
                raw = await reply.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return of_connection(error, self.server.timeout_s)
        try:
            answer: Any = json.loads(raw)
        except ValueError:
            answer = raw.decode(errors="replace")
        if reply.status != 200:
            return of_status(reply.status, reply.headers, answer, self.server.api_key)
        return answer if isinstance(answer, dict) else of_body("no JSON object")

    def _wait_s(self, number: int, failure: Failure) -> float:
        """Double the wait with each try, with jitter, so that requests spread out."""
        backoff = min(_MAX_BACKOFF_S, self._backoff_s * 2.0 ** (number - 1))
        return max(failure.wait_s, backoff) * random.uniform(1, 1.5)  # noqa: S311  a pause, no secret


def open_session(server: ModelServer, concurrency: int) -> aiohttp.ClientSession:
    """Open a pool of at most `concurrency` connections."""
    import aiohttp

    parts = urlsplit(server.url)
    headers = {}
    if "@" not in parts.netloc:  # credentials in the URL use the same header
        headers["Authorization"] = f"Bearer {server.api_key or NO_KEY}"
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=concurrency),
        timeout=aiohttp.ClientTimeout(
            total=server.timeout_s, sock_connect=min(server.timeout_s, CONNECT_TIMEOUT_S)
        ),
        headers=headers,
        # A proxy cannot reach this machine's loopback.
        trust_env=not is_loopback(parts.hostname or ""),
    )


def _join(url: str, path: str, *, at_root: bool) -> str:
    parts = urlsplit(url)
    base = parts.path.rstrip("/")
    if at_root:
        base = base.removesuffix("/v1")
    return urlunsplit(parts._replace(path=base + path))
