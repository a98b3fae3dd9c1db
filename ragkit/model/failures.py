"""Failures of a language-model server: one line with a remedy, and whether a retry may help.

Every way in which a request can fail becomes a `Failure`; `ragkit.model.statuses` has the table of
statuses.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from ragkit.errors import ModelServerBusyError, ModelServerError
from ragkit.model.quoting import quoted
from ragkit.model.server import ModelServer, served
from ragkit.model.statuses import is_busy, may_pass, status_meaning

_MAX_NAMES = 20  # in one message


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a server did not answer: `problem` continues the server's name.

    `is_transient`: the same server may take the same request later, after `wait_s` if it set a
    time. `elsewhere`: another server may take it at once. `status` is that of the answer, 0 without
    an answer.
    """

    server: ModelServer
    problem: str
    is_transient: bool = False
    elsewhere: bool = True
    wait_s: float = 0.0
    status: int = 0

    def __str__(self) -> str:
        return f"language-model server {self.server.shown} {self.problem}"


class StreamFaultError(Exception):
    """A stream that is well-formed but wrong; `is_transient` as in `Failure`."""

    def __init__(self, problem: str, *, is_transient: bool) -> None:
        super().__init__(problem)
        self.is_transient = is_transient


class AnswerStatusError(Exception):
    """A server answered with another status than 200, and perhaps an error in OpenAI's form."""

    def __init__(self, status: int, headers: Mapping[str, str], body: object) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.headers = headers
        self.body = body


def foreign_errors() -> tuple[type[Exception], ...]:
    """Return the errors that a try can raise: the clients', and those that odd bodies provoke."""
    import aiohttp
    import openai

    return (
        openai.OpenAIError,
        aiohttp.ClientError,
        TimeoutError,
        StreamFaultError,
        AnswerStatusError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
    )


async def explain(error: Exception, server: ModelServer, model: str = "") -> Failure:
    """Return the failure that an error means; for an unknown model, name the models served."""
    import aiohttp
    import openai

    if isinstance(error, StreamFaultError):
        return Failure(server, str(error), error.is_transient, elsewhere=error.is_transient)
    if isinstance(error, AnswerStatusError):
        return await _status(error, server, model)
    if isinstance(error, openai.APIStatusError):
        answer = AnswerStatusError(error.status_code, error.response.headers, error.body)
        return await _status(answer, server, model)
    if isinstance(error, openai.APIConnectionError | aiohttp.ClientError):
        return _connection(error, server)
    if isinstance(error, TimeoutError):
        return _silence(server)
    problem = (
        f"gave no proper OpenAI-style answer ({type(error).__name__}): see its log, and check"
        " that RAGKIT_LLM_URL is such an API's base, usually ending in /v1"
    )
    return Failure(server, problem, is_transient=True)


def _silence(server: ModelServer) -> Failure:
    problem = f"sent nothing for {server.timeout_s:g} s: see its load, or allow it a longer timeout"
    return Failure(server, problem)


def _connection(error: Exception, server: ModelServer) -> Failure:
    import openai

    causes = list(_causes(error))
    unfit = address_problem(error, "RAGKIT_LLM_URL")
    if unfit:
        return Failure(server, unfit)
    names = {type(cause).__name__ for cause in causes}
    if names & {"ConnectTimeout", "ConnectionTimeoutError"}:
        problem = "cannot be reached: start it, or correct RAGKIT_LLM_URL"
    elif isinstance(error, openai.APITimeoutError):
        return _silence(server)
    elif any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        problem = "refuses connections: start it, or correct RAGKIT_LLM_URL"
    elif names & {"ConnectError", "ClientConnectorError"}:
        problem = "cannot be connected to: check that it runs and that RAGKIT_LLM_URL is right"
    else:
        problem = "broke the connection before its answer was complete: see its log, then ask again"
    return Failure(server, problem, is_transient=True)


def address_problem(error: BaseException, setting: str) -> str:
    """Say what is wrong with an address that no connection can be made to, or ""."""
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"has a host name that does not resolve: correct {setting}"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "cannot be spoken to over TLS: check its certificate, or use http:// for plain HTTP"
    return ""


async def _status(error: AnswerStatusError, server: ModelServer, model: str) -> Failure:
    status, words = error.status, quoted_words(error.body, server)
    meaning = status_meaning(status)
    if meaning == "denied":
        reason = "no API key was given" if server.api_key is None else "the API key is wrong"
        return Failure(server, f"denies access ({status}; {reason}): set RAGKIT_LLM_API_KEY")
    if meaning == "no path":
        return Failure(server, await _not_found(server, model))
    if meaning == "rejected":
        problem = (
            f"rejects the request ({status}{words}): if it is too long, use a smaller context"
            " budget or serve the model with a longer context"
        )
        return Failure(server, problem, elsewhere=False)
    wait_s = retry_after_s(error.headers.get("retry-after", ""))
    if meaning == "busy":
        when = f"in {wait_s:.0f} s" if wait_s else "later"
        problem = f"takes no more requests now ({status}{words}): try again {when}"
    else:
        problem = f"failed ({status}{words}): see its log, or try again later"
    return Failure(server, problem, may_pass(status), wait_s=wait_s, status=status)


def failed(failures: Sequence[Failure], message: str) -> ModelServerError:
    """Return the error of a request that no server answered.

    Where a server was busy, it holds the time to wait.
    """
    busy = [failure for failure in failures if is_busy(failure.status)]
    if not busy:
        return ModelServerError(message)
    first = min(busy, key=lambda failure: failure.wait_s)
    return ModelServerBusyError(message, status=first.status, retry_after_s=first.wait_s)


def refused(message: str, status: int, headers: Mapping[str, str]) -> ModelServerError:
    """Return the error of an answer of this status; see `failed`."""
    if not is_busy(status):
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
        names = [entry.name for entry in await served(server)]
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
    """Write a server's names of models in one line, at most twenty."""
    ellipsis = ", ..." if len(names) > _MAX_NAMES else ""
    return ", ".join(quoted(name, server.api_key) for name in names[:_MAX_NAMES]) + ellipsis


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def quoted_words(body: object, server: ModelServer) -> str:
    """Quote the message of a server's error, if there is one, for the end of a phrase."""
    words = body.get("message") if isinstance(body, dict) else None
    return f"; {quoted(words, server.api_key)}" if isinstance(words, str) and words.strip() else ""
