"""What a language-model server's failures mean: one line with a remedy, and what may be tried next.

Every way in which a request can fail becomes a `Failure`. It tries nothing again itself.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from ragkit.errors import ModelServerBusyError, ModelServerError
from ragkit.model.server import ModelServer, served

if TYPE_CHECKING:
    import openai

_MAX_NAMES, _MAX_QUOTED_CHARS = 20, 200  # what of a server's words one line can hold
_TRANSIENT: Final = frozenset({408, 409, 425, 429})  # and every 5xx
BUSY: Final = frozenset({429, 503})  # it takes no more now, and may say when it will
_OF_THE_REQUEST: Final = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a server did not answer: `said` continues its name.

    `again`: the same server may take the same request later, after `wait_s` if it said so.
    `elsewhere`: another server may take it now. `status` is that of its answer, 0 without one.
    """

    server: ModelServer
    said: str
    again: bool = False
    elsewhere: bool = True
    wait_s: float = 0.0
    status: int = 0

    def __str__(self) -> str:
        return f"language-model server {self.server.shown} {self.said}"


class StreamFaultError(Exception):
    """A stream that is well-formed and yet wrong; `again` as in `Failure`."""

    def __init__(self, said: str, *, again: bool) -> None:
        super().__init__(said)
        self.again = again


def foreign_errors() -> tuple[type[Exception], ...]:
    """Name what a try can raise: the client's errors, and whatever odd bodies provoke."""
    import openai

    return (
        openai.OpenAIError,
        TimeoutError,
        StreamFaultError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
    )


async def explain(error: Exception, server: ModelServer, model: str = "") -> Failure:
    """Say what an error of a try means; for an unknown model it asks which the server serves."""
    import openai

    if isinstance(error, StreamFaultError):
        return Failure(server, str(error), error.again, elsewhere=error.again)
    if isinstance(error, openai.APIConnectionError):
        return _connection(error, server)
    if isinstance(error, TimeoutError):
        return _silence(server)
    if isinstance(error, openai.APIStatusError):
        return await _status(error, server, model)
    if isinstance(error, openai.APIError) and not isinstance(
        error, openai.APIResponseValidationError
    ):
        said = f"broke its answer off with an error{_words(error, server)}: see its log"
        return Failure(server, said, again=True)
    said = (
        f"gave no proper OpenAI-style answer ({type(error).__name__}): see its log, and check"
        " that RAGKIT_LLM_URL is such an API's base, usually ending in /v1"
    )
    return Failure(server, said, again=True)


def _silence(server: ModelServer) -> Failure:
    said = f"sent nothing for {server.timeout_s:g} s: see its load, or allow it a longer timeout"
    return Failure(server, said)


def _connection(error: openai.APIConnectionError, server: ModelServer) -> Failure:
    import openai

    causes = list(_causes(error))
    names = {type(cause).__name__ for cause in causes}
    if "ConnectTimeout" in names:
        said = "cannot be reached: start it, or correct RAGKIT_LLM_URL"
    elif isinstance(error, openai.APITimeoutError):
        return _silence(server)
    elif any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        said = "refuses connections: start it, or correct RAGKIT_LLM_URL"
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        said = "has a host name that does not resolve: correct RAGKIT_LLM_URL"
        return Failure(server, said)
    elif any(isinstance(cause, ssl.SSLError) for cause in causes):
        said = "cannot be spoken to over TLS: check its certificate, or use http:// for plain HTTP"
        return Failure(server, said)
    elif "ConnectError" in names:
        said = "cannot be connected to: check that it runs and that RAGKIT_LLM_URL is right"
    else:
        said = "broke the connection before its answer was complete: see its log, then ask again"
    return Failure(server, said, again=True)


async def _status(error: openai.APIStatusError, server: ModelServer, model: str) -> Failure:
    status, words = error.status_code, _words(error, server)
    if status in {401, 403}:
        given = "no API key was given" if server.api_key is None else "the API key is wrong"
        return Failure(server, f"denies access ({status}; {given}): set RAGKIT_LLM_API_KEY")
    if status == 404:
        return Failure(server, await _not_found(server, model))
    if status in _OF_THE_REQUEST:
        said = (
            f"rejects the request ({status}{words}): if it is too long, use a smaller context"
            " budget or serve the model with a longer context"
        )
        return Failure(server, said, elsewhere=False)
    wait_s = retry_after_s(error.response.headers.get("retry-after", ""))
    if status == 429:
        soon = f"in {wait_s:.0f} s" if wait_s else "later"
        said = f"takes no more requests now (429{words}): try again {soon}"
    else:
        said = f"failed ({status}{words}): see its log, or try again later"
    again = status in _TRANSIENT or status >= 500
    return Failure(server, said, again, wait_s=wait_s, status=status)


def failed(failures: Sequence[Failure], message: str) -> ModelServerError:
    """Return the error of a request that no server answered.

    It says when to ask again if one of them was merely busy.
    """
    busy = [failure for failure in failures if failure.status in BUSY]
    if not busy:
        return ModelServerError(message)
    first = min(busy, key=lambda failure: failure.wait_s)
    return ModelServerBusyError(message, status=first.status, retry_after_s=first.wait_s)


def refused(message: str, status: int, headers: Mapping[str, str]) -> ModelServerError:
    """Return the error of an answer of this status; see `failed`."""
    if status not in BUSY:
        return ModelServerError(message)
    wait_s = retry_after_s(headers.get("retry-after", ""))
    return ModelServerBusyError(message, status=status, retry_after_s=wait_s)


def retry_after_s(value: str) -> float:
    """Read a Retry-After header, seconds or a date (RFC 9110, 10.2.3); 0 for none or nonsense.

    >>> retry_after_s("30"), retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT"), retry_after_s("x")
    (30.0, 0.0, 0.0)
    """
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


async def _not_found(server: ModelServer, model: str) -> str:
    try:
        names = [one.name for one in await served(server)]
    except foreign_errors():
        names = []
    if not model or not names or model in names:
        return (
            "has no such path (404): RAGKIT_LLM_URL must be the API's base, usually ending in /v1"
        )
    return (
        f"does not serve {model!r} but {listed(names, server)}: set RAGKIT_LLM_MODEL to one it"
        " serves"
    )


def listed(names: Sequence[str], server: ModelServer) -> str:
    """Write a server's names of models in one line; of very many, the first."""
    more = ", ..." if len(names) > _MAX_NAMES else ""
    return ", ".join(_one_line(name, server) for name in names[:_MAX_NAMES]) + more


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _words(error: openai.APIError, server: ModelServer) -> str:
    """Quote the server's own words, if it had any."""
    body = error.body
    words = body.get("message") if isinstance(body, dict) else None
    return f"; {_one_line(words, server)}" if isinstance(words, str) and words.strip() else ""


def _one_line(words: str, server: ModelServer) -> str:
    line = "".join(c if c.isprintable() else " " for c in words)
    if server.api_key:
        line = line.replace(server.api_key, "***")
    line = " ".join(line.split())
    return line if len(line) <= _MAX_QUOTED_CHARS else line[:_MAX_QUOTED_CHARS] + "..."
