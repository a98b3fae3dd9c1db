"""Classify the failures of a model server: those of an item, and those of the run.

A failure of an item is a ModelServerError. If every other item would fail too, because the server
does not answer or denies access, it is a ServerGoneError, and the run stops.
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

_MAX_QUOTED_CHARS = 300  # of a server's message, in an error message
_TOO_LONG = re.compile(
    r"context length|context window|max_model_len|maximum model length|too long|longer than", re.I
)
MANY, FEW = 1_000, 2  # tries: as many as allowed; or only two, as each may take minutes


class ServerGoneError(RagkitError):
    """No item can be answered: the server is gone, denies access, or lacks the model."""


class RejectedError(ModelServerError):
    """The server rejects this request; a retry cannot help. `words` is its message."""

    def __init__(self, message: str, words: str) -> None:
        super().__init__(message)
        self.words = words


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason of a failed try: `reason` continues a sentence after the server's name.

    `tries` is the total number of tries of such a request, `wait_s` the wait that the server asked
    for. `gone` says that every other request would fail too.
    """

    reason: str
    tries: int = 1
    wait_s: float = 0.0
    gone: bool = False
    rejected: bool = False
    words: str = ""
    absent: bool = False  # the path does not exist, or is denied

    def error(self, server: str) -> RagkitError:
        """Return the error, with the server's name."""
        message = f"language-model server {server} {self.reason}"
        if self.gone:
            return ServerGoneError(message)
        if self.rejected:
            return RejectedError(message, self.words)
        return ModelServerError(message)


def of_connection(error: Exception, timeout_s: float) -> Failure:
    """Classify an exception of the client."""
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
        reason = (
            "cannot be spoken to over TLS: check its certificate, or use http:// for plain HTTP"
        )
        return Failure(reason, gone=True)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Failure("has a host name that does not resolve: correct --url", FEW, gone=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        return Failure("refuses connections: start it, or correct --url", MANY, gone=True)
    return Failure("broke the connection before its answer was complete: see its log", MANY)


def of_status(status: int, headers: Mapping[str, str], body: Any, secret: str | None) -> Failure:
    """Classify an answer with a status other than 200; `body` is its JSON or its text."""
    words = _words(body, secret)
    quoted = f"; {words}" if words else ""
    meaning = status_meaning(status)
    if meaning == "denied":
        remedy = "set RAGKIT_LLM_API_KEY" if secret is None else "correct RAGKIT_LLM_API_KEY"
        return Failure(f"denies access ({status}{quoted}): {remedy}", gone=True, absent=True)
    if meaning == "no path":
        reason = (
            f"has no such path or model (404{quoted}): --url must be the API's base, usually"
            " ending in /v1"
        )
        return Failure(reason, gone=True, absent=True)
    if status == 429:
        wait_s = retry_after_s(headers.get("Retry-After", ""))
        reason = f"takes no more requests now (429{quoted}): ask fewer at once (--concurrency)"
        return Failure(reason, MANY, wait_s)
    if may_pass(status):
        wait_s = retry_after_s(headers.get("Retry-After", ""))
        return Failure(f"failed ({status}{quoted}): see its log", MANY, wait_s)
    if _TOO_LONG.search(words):
        reason = (
            f"has too short a context for this prompt ({status}{quoted}): serve it with a longer"
        )
        return Failure(reason, rejected=True, words=words)
    reason = f"rejects the request ({status}{quoted})"
    return Failure(reason, rejected=True, words=words, absent=meaning == "no method")


def of_body(problem: str) -> Failure:
    """Describe an answer with status 200 that is not an OpenAI-style answer."""
    return Failure(f"gave no proper OpenAI-style answer ({problem}): see its log", FEW + 1)


def _words(body: Any, secret: str | None) -> str:
    """Extract the server's message from its answer, in OpenAI's, vLLM's or FastAPI's form."""
    if isinstance(body, dict):
        inner = body.get("error")
        message = inner.get("message") if isinstance(inner, dict) else inner
        body = message or body.get("message") or body.get("detail")
    if not isinstance(body, str) or body.lstrip().startswith("<"):  # the page of a proxy
        return ""
    line = body.replace(secret, "***") if secret else body
    line = " ".join("".join(c if c.isprintable() else " " for c in line).split())
    return line if len(line) <= _MAX_QUOTED_CHARS else line[:_MAX_QUOTED_CHARS] + "..."
