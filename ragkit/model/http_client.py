"""Requests to a server of embeddings or scores: bounded in time and size, and tried again.

What a status means is `ragkit.model.statuses`' business; what is sent and answered is the caller's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event, Lock
from typing import TYPE_CHECKING, Final

from ragkit.errors import ModelServerBusyError, ModelServerError
from ragkit.model.failover import Tries
from ragkit.model.failures import address_problem, refused, retry_after_s
from ragkit.model.quoting import quoted
from ragkit.model.server import CONNECT_TIMEOUT_S
from ragkit.model.statuses import may_pass, status_meaning
from ragkit.system.cancellation import check_cancelled, current_cancellation

if TYPE_CHECKING:
    import httpx

TIMEOUT_S: Final = 60.0  # arbitrary: of one request, whole
_MESSAGES: Final = ("error", "message", "detail")  # where servers write what is wrong


@dataclass(frozen=True, slots=True)
class ServerNames:
    """What messages call a server, the settings of its address and key, and a proper address.

    `not_found` says what a 404 means, `found_by` what the settings must be then, `rejected` what
    to do about a request that is never taken.
    """

    server: str
    url_setting: str
    key_setting: str
    address: str
    not_found: str
    found_by: str
    rejected: str = "see its log"


class HttpClient:
    """Send requests to one server, which messages show as `shown`.

    A request is sent again as `tries` says when the connection breaks, or when the server answers
    that it is busy or failed. `timeout_s` bounds each try, from its first byte to its last.
    """

    def __init__(
        self,
        names: ServerNames,
        shown: str,
        *,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: Tries | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.names = names
        self.shown = shown
        self._key = api_key
        self._timeout_s = timeout_s
        self._tries = tries or Tries()
        self._transport = transport
        self._opened: httpx.Client | None = None
        self._lock = Lock()

    def get(self, url: str, max_bytes: int) -> bytes:
        """Return the answer to a GET. Raises as `post` does."""
        return self._sent(url, None, max_bytes)

    def post(self, url: str, content: bytes, max_bytes: int) -> bytes:
        """Return the answer to JSON, of at most so many bytes.

        Raises ModelServerError, StatusError for an answer that is no 200, ModelServerBusyError for
        429 and 503, and WorkCancelledError.
        """
        return self._sent(url, content, max_bytes)

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def error(self, problem: str) -> ModelServerError:
        """Return an error that names the server."""
        return ModelServerError(self._message(problem))

    def improper(self, problem: str) -> ModelServerError:
        """Return the error of an answer that cannot be read."""
        return self.error(
            f"gave no proper answer ({quoted(problem, self._key)}): see that"
            f" {self.names.url_setting} is {self.names.address}"
        )

    def _message(self, problem: str) -> str:
        return f"{self.names.server} {self.shown} {problem}"

    def _sent(self, url: str, content: bytes | None, max_bytes: int) -> bytes:
        """Send a request, again where that may help. Without content it is a GET."""
        for turn in range(1, self._tries.rounds + 1):
            check_cancelled()
            try:
                return self._answer(url, content, max_bytes)
            except _PassingError as error:
                if turn == self._tries.rounds or error.wait_s > self._tries.longest_wait_s:
                    raise error.failure from error.__cause__
                _Pause().take(max(self._tries.pause_s(turn), error.wait_s))
        raise AssertionError("the last try returns or raises")

    def _answer(self, url: str, content: bytes | None, max_bytes: int) -> bytes:
        import httpx

        try:
            return self._exchange(url, content, max_bytes)
        except httpx.TimeoutException as error:
            raise self.error(
                f"did not answer within {self._timeout_s:g} s: see its load"
            ) from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise self.error(
                f"is no address ({quoted(str(error), self._key)}): correct {self.names.url_setting}"
            ) from error
        except httpx.RequestError as error:
            words, setting = quoted(str(error), self._key), self.names.url_setting
            problem = f"broke the connection ({words}): see its log"
            if isinstance(error, httpx.ConnectError):
                unfit = address_problem(error, setting)
                if unfit:
                    raise self.error(unfit) from error
                problem = f"cannot be reached ({words}): start it, or correct {setting}"
            raise _PassingError(self.error(problem)) from error

    def _exchange(self, url: str, content: bytes | None, max_bytes: int) -> bytes:
        until = time.monotonic() + self._timeout_s
        method = "GET" if content is None else "POST"
        headers = {"content-type": "application/json"} if content is not None else {}
        with self._client().stream(method, url, content=content, headers=headers) as response:
            read = bytearray()
            for chunk in response.iter_bytes():
                check_cancelled()
                read += chunk
                if len(read) > max_bytes:
                    raise self.error(f"sent more than {max_bytes:,} bytes: see its log")
                if time.monotonic() > until:
                    raise self.error(f"was not done after {self._timeout_s:g} s: see its load")
        if response.status_code != 200:
            raise self._refusal(response.status_code, bytes(read), response.headers)
        return bytes(read)

    def _refusal(
        self, status: int, answer: bytes, headers: Mapping[str, str]
    ) -> ModelServerError | _PassingError:
        words = quoted(_words(answer), self._key)
        reason = f"{status}; {words}" if words else f"{status}"
        names, meaning = self.names, status_meaning(status)
        if meaning == "denied":
            of_key = "the API key is wrong" if self._key else "no API key was given"
            problem = f"denies access ({status}; {of_key}): set {names.key_setting}"
        elif meaning in {"no path", "no method"}:
            problem = f"{names.not_found} ({reason}): {names.found_by}"
        elif not may_pass(status):
            problem = f"rejects the request ({reason}): {names.rejected}"
        elif meaning == "busy":
            wait_s = retry_after_s(headers.get("retry-after", ""))
            when = f"in {wait_s:.0f} s" if wait_s else "later"
            problem = f"takes no more requests now ({reason}): try again {when}"
            return _PassingError(refused(self._message(problem), status, headers))
        else:
            return _PassingError(self.error(f"failed ({reason}): see its load and its log"))
        return StatusError(self._message(problem), status)

    def _client(self) -> httpx.Client:
        """Return the one client, which keeps its connections."""
        import httpx

        with self._lock:
            if self._opened is None:
                wait_s = self._timeout_s
                self._opened = httpx.Client(
                    timeout=httpx.Timeout(wait_s, connect=min(wait_s, CONNECT_TIMEOUT_S)),
                    headers={"authorization": f"Bearer {self._key}"} if self._key else {},
                    transport=self._transport,
                )
            return self._opened


class StatusError(ModelServerError):
    """The server answered with a `status` that asking again does not change."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _PassingError(Exception):
    """A failure that may be over at the next try, after `wait_s` where the server set a time."""

    def __init__(self, failure: ModelServerError) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.wait_s = failure.retry_after_s if isinstance(failure, ModelServerBusyError) else 0.0


def _words(answer: bytes) -> str:
    """Return the message of an error in OpenAI's form, FastAPI's or another; else all of it."""
    text = answer.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for _ in range(2):
        if isinstance(value, dict):
            value = next((value[name] for name in _MESSAGES if value.get(name)), value)
    return value if isinstance(value, str) else text


class _Pause:
    """A wait that a cancellation of the work ends."""

    def __init__(self) -> None:
        self._ended = Event()

    def stop(self) -> None:
        self._ended.set()

    def take(self, seconds: float) -> None:
        cancellation = current_cancellation()
        if cancellation is not None:
            cancellation.add(self)
        self._ended.wait(seconds)
        check_cancelled()
