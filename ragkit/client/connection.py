"""The client's HTTP: ragkit's own errors, and retries of requests that are safe to repeat."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ragkit import __version__
from ragkit.errors import (
    AccessError,
    BusyError,
    NotFoundError,
    OverloadedError,
    QueryError,
    RagkitError,
    ServerError,
    UsageError,
)

if TYPE_CHECKING:
    import httpx

TRIES: Final = 4  # arbitrary, in all
FIRST_WAIT_S: Final = 0.25  # arbitrary; doubles with each try, times 0.5 to 1 to spread clients
MAX_WAIT_S: Final = 30.0  # arbitrary: a server that asks for more is left to the caller
CONNECT_TIMEOUT_S: Final = 10.0
PAGE_ROWS: Final = 100  # the most that a server lists at a time
# Status 400 here is a QueryError; elsewhere it is a UsageError.
_QUERIES: Final = frozenset({"/v1/search", "/v1/chat/completions", "/v1/embeddings", "/v1/rerank"})
_GATEWAYS: Final = frozenset({502, 503, 504})

Files = Callable[[], list[tuple[str, Any]]]


class Connection:
    """One server's address and key, and a pool of connections to it."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        timeout_s: float,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        import httpx

        self.base_url = base_url.rstrip("/").removesuffix("/v1")
        if not re.fullmatch(r"https?://[!-~]+", self.base_url):
            raise UsageError(
                f"{base_url!r} is no server's address: it begins with http:// or https://"
            )
        headers = {"user-agent": f"ragkit/{__version__}"}
        if api_key is not None:
            if not re.fullmatch(r"[!-~]{1,200}", api_key):
                raise AccessError("the key is none that `ragkit keys create` prints")
            headers["authorization"] = f"Bearer {api_key}"
        self._http = httpx.Client(
            base_url=self.base_url,
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)),
            transport=transport,
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def json(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        files: Files | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Send a request and return the JSON object of its answer.

        A request with an idempotency `key` can be repeated like a GET. `files` opens the files for
        each try. Raises one of ragkit's errors for every answer that is no success.
        """
        with self.stream(method, path, body=body, params=params, files=files, key=key) as response:
            with self._translated():
                content = response.read()
            if response.status_code == 204:  # no content
                return {}
            try:
                value = json.loads(content)
            except ValueError as error:
                raise self._strange("sent no JSON") from error
            if not isinstance(value, dict):
                raise self._strange("sent JSON that is no object")
            return value

    def pages(self, path: str, **params: Any) -> Iterator[object]:
        """Yield the rows of a list, page by page."""
        last_id: str | None = None
        while True:
            query = {"limit": PAGE_ROWS, "after": last_id, **params}
            page = self.json("GET", path, params=query)
            yield from page.get("data") or ()
            next_id = page.get("last_id")
            if not page.get("has_more") or next_id in {None, last_id}:
                return
            last_id = str(next_id)

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        files: Files | None = None,
        key: str | None = None,
    ) -> Iterator[httpx.Response]:
        """Send a request and yield the response before its body is read; see `json`."""
        headers = {"idempotency-key": key} if key is not None else {}
        safe = method == "GET" or key is not None
        query = {name: value for name, value in (params or {}).items() if value is not None}
        response: httpx.Response | None = None
        for wait_s in _waits():
            parts = files() if files is not None else None
            request = self._http.build_request(
                method, path, json=body, params=query or None, files=parts, headers=headers
            )
            try:
                response = self._send(request, path, safe=safe)
                break
            except _RetryableError as failure:
                if wait_s is None or failure.after_s > MAX_WAIT_S:
                    raise failure.error from failure.error.__cause__
                time.sleep(max(wait_s, failure.after_s))
            finally:
                for _, part in parts or ():
                    part[1].close()
        assert response is not None, "the last try returns or raises"
        try:
            yield response
        finally:
            response.close()

    def chunks(self, response: httpx.Response) -> Iterator[bytes]:
        """Yield a response's body as it comes. Raises ServerError."""
        with self._translated():
            yield from response.iter_bytes()

    def _send(self, request: httpx.Request, path: str, *, safe: bool) -> httpx.Response:
        import httpx

        try:
            response = self._http.send(request, stream=True)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            failure = self._unreached(error)
            # A server that refuses the connection has done nothing.
            if safe or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                raise _RetryableError(failure) from error
            raise failure from error
        if response.is_success:
            return response
        try:
            with self._translated():
                content = response.read()
        finally:
            response.close()
        raise self._failure(response, content, path, safe=safe)

    def _failure(
        self, response: httpx.Response, content: bytes, path: str, *, safe: bool
    ) -> RagkitError | _RetryableError:
        """Return the error that a response without success means."""
        status, body = response.status_code, _error_body(content)
        after_s = _seconds(response.headers.get("retry-after"))
        if body is None:
            error: RagkitError = self._strange(f"answered {status} without saying why")
            if status in {429, 503}:
                error = OverloadedError(str(error), after_s or 0.0)
        else:
            error = _error_of(status, str(body["message"]), path, after_s)
            if status == 500 and "x-request-id" in response.headers:
                error = ServerError(f"{error} (request {response.headers['x-request-id']})")
        # A refusal that names a time came before anything was done, unless the database failed.
        turned_away = status in {429, 503} and after_s is not None
        undone = turned_away and (body or {}).get("code") != "database"
        if undone or (safe and (turned_away or status in _GATEWAYS)):
            return _RetryableError(error, after_s or 0.0)
        return error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate the errors of httpx while a response is read."""
        import httpx

        try:
            yield
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise self._unreached(error) from error

    def _unreached(self, error: Exception) -> ServerError:
        import httpx

        if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
            problem = "cannot be reached: start it with `ragkit serve`, or correct the address"
        elif isinstance(error, httpx.TimeoutException):
            problem = "was silent for too long: see its load, or allow it a longer timeout_s"
        else:
            problem = "broke the connection: see its log, then ask again"
        return ServerError(f"the ragkit server {self.base_url} {problem}")

    def _strange(self, problem: str) -> ServerError:
        return ServerError(
            f"{self.base_url} {problem}: check that the address is a ragkit server's, and see its"
            " log"
        )


class _RetryableError(Exception):
    """A failure after which the same request may be repeated, in `after_s` seconds."""

    def __init__(self, error: RagkitError, after_s: float = 0.0) -> None:
        super().__init__(str(error))
        self.error = error
        self.after_s = after_s


def _waits() -> Iterator[float | None]:
    """Yield the seconds to wait after each failed try; None after the last."""
    for number in range(TRIES - 1):
        yield FIRST_WAIT_S * 2**number * random.uniform(0.5, 1.0)  # noqa: S311  a pause, no secret
    yield None


def _error_of(status: int, message: str, path: str, after_s: float | None) -> RagkitError:
    """Return the error that a ragkit server's status and message mean."""
    if status in {401, 403}:
        return AccessError(message)
    if status == 404:
        return NotFoundError(message)
    if status == 409:
        return BusyError(message)
    if status == 429 or (status == 503 and after_s is not None):
        return OverloadedError(message, after_s or 0.0)
    if status < 500:
        return QueryError(message) if path in _QUERIES and status == 400 else UsageError(message)
    return ServerError(message)


def _error_body(content: bytes) -> dict[str, Any] | None:
    """Read an error's body; None for a body of another format."""
    try:
        error = json.loads(content)["error"]
        return error if isinstance(error["message"], str) else None
    except (ValueError, KeyError, TypeError):
        return None


def _seconds(text: str | None) -> float | None:
    """Read a Retry-After; ragkit's servers write seconds, never a date."""
    return float(text) if text is not None and re.fullmatch(r"[0-9]{1,6}", text) else None
