"""What a model server's failures mean to an evaluation: which are the item's, which the run's.

An item's failure is a ModelServerError. Where no other item would fare better, because nobody is
there or nobody is let in, it is a ServerGoneError, and a run stops. It tries nothing again itself.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragkit.errors import ModelServerError, RagkitError
from ragkit.model.failures import retry_after_s
from ragkit.model.statuses import may_pass, status_meaning

_MAX_QUOTED_CHARS = 300  # what of a server's words one line can hold
_TOO_LONG = re.compile(
    r"context length|context window|max_model_len|maximum model length|too long|longer than", re.I
)
MANY, FEW = 1_000, 2  # tries: as many as are allowed; or one more, as each may take minutes


class ServerGoneError(RagkitError):
    """No item can be answered: the server is away, lets nobody in, or serves another model."""


class RejectedError(ModelServerError):
    """The server does not take this request, whenever it is sent; `words` are its own."""

    def __init__(self, message: str, words: str) -> None:
        super().__init__(message)
        self.words = words


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a try failed: `said` continues the server's name.

    `tries` is how often such a request is sent in all, `wait_s` what the server asked to wait.
    `gone` says that no other request would fare better.
    """

    said: str
    tries: int = 1
    wait_s: float = 0.0
    gone: bool = False
    rejected: bool = False
    words: str = ""
    absent: bool = False  # there is no such path, or not for us

    def error(self, server: str) -> RagkitError:
        """Make the error of it, naming the server."""
        message = f"language-model server {server} {self.said}"
        if self.gone:
            return ServerGoneError(message)
        if self.rejected:
            return RejectedError(message, self.words)
        return ModelServerError(message)


def of_connection(error: Exception, timeout_s: float) -> Failure:
    """Say what an exception of the client means."""
    import aiohttp

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return Failure("cannot be reached: start it, or correct --url", MANY, gone=True)
    if isinstance(error, TimeoutError):
        return Failure(
            f"gave no answer within {timeout_s:g} s: ask fewer at once (--concurrency), or allow"
            " more (--timeout-s)",
            FEW,
        )
    if isinstance(error, aiohttp.ClientSSLError) or isinstance(error.__cause__, ssl.SSLError):
        said = "cannot be spoken to over TLS: check its certificate, or use http:// for plain HTTP"
        return Failure(said, gone=True)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Failure("has a host name that does not resolve: correct --url", FEW, gone=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        return Failure("refuses connections: start it, or correct --url", MANY, gone=True)
    return Failure("broke the connection before its answer was complete: see its log", MANY)


def of_status(status: int, headers: Mapping[str, str], body: Any, secret: str | None) -> Failure:
    """Say what an answer with a status other than 200 means; `body` is its JSON or its text."""
    words = _words(body, secret)
    quoted = f"; {words}" if words else ""
    meaning = status_meaning(status)
    if meaning == "denied":
        remedy = "set RAGKIT_LLM_API_KEY" if secret is None else "correct RAGKIT_LLM_API_KEY"
        return Failure(f"denies access ({status}{quoted}): {remedy}", gone=True, absent=True)
    if meaning == "no path":
        said = (
            f"has no such path or model (404{quoted}): --url must be the API's base, usually"
            " ending in /v1"
        )
        return Failure(said, gone=True, absent=True)
    if status == 429:
        wait_s = retry_after_s(headers.get("Retry-After", ""))
        said = f"takes no more requests now (429{quoted}): ask fewer at once (--concurrency)"
        return Failure(said, MANY, wait_s)
    if may_pass(status):
        wait_s = retry_after_s(headers.get("Retry-After", ""))
        return Failure(f"failed ({status}{quoted}): see its log", MANY, wait_s)
    if _TOO_LONG.search(words):
        said = f"has too short a context for this prompt ({status}{quoted}): serve it with a longer"
        return Failure(said, rejected=True, words=words)
    said = f"rejects the request ({status}{quoted})"
    return Failure(said, rejected=True, words=words, absent=meaning == "no method")


def of_body(problem: str) -> Failure:
    """Say that an answer with status 200 is not what an OpenAI-style server gives."""
    return Failure(f"gave no proper OpenAI-style answer ({problem}): see its log", FEW + 1)


def _words(body: Any, secret: str | None) -> str:
    """Take the server's own words out of its answer: OpenAI's, vLLM's and FastAPI's forms."""
    if isinstance(body, dict):
        inner = body.get("error")
        found = inner.get("message") if isinstance(inner, dict) else inner
        body = found or body.get("message") or body.get("detail")
    if not isinstance(body, str) or body.lstrip().startswith("<"):  # a proxy's page says nothing
        return ""
    line = body.replace(secret, "***") if secret else body
    line = " ".join("".join(c if c.isprintable() else " " for c in line).split())
    return line if len(line) <= _MAX_QUOTED_CHARS else line[:_MAX_QUOTED_CHARS] + "..."
