"""A language-model server as an address: what it serves, and what its failures mean.

Every way in which it can fail becomes one line that names it and the remedy. It knows nothing of
questions and answers.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ragkit.errors import ModelServerError, SettingsError

if TYPE_CHECKING:
    import openai

NO_KEY = "EMPTY"  # what vLLM's own examples send to a server without a key
CONNECT_TIMEOUT_S = 5.0  # arbitrary; a server on the same network answers in milliseconds
_MAX_NAMES, _MAX_QUOTED_CHARS = 20, 200  # what of a server's words one line can hold


@dataclass(frozen=True, slots=True)
class ModelServer:
    """Where a language-model server is, and how to speak to it; `url` ends in /v1."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0

    def check(self) -> None:
        """Raise SettingsError for a URL that no request can be sent to."""
        try:
            parts = urlsplit(self.url)
            sound = parts.scheme in {"http", "https"} and bool(parts.hostname)
            sound = sound and parts.port != 0 and not re.search(r"[\s\\]", self.url)
        except ValueError:
            sound = False
        if not sound:
            raise SettingsError(
                f"language-model URL {self.shown!r} is not one: RAGKIT_LLM_URL must look like"
                " http://127.0.0.1:8000/v1"
            )

    @property
    def shown(self) -> str:
        """The URL without user, password and query, fit for messages."""
        from ragkit.masking import masked

        return masked("llm_url", self.url)

    def timeout(self) -> openai.Timeout:
        """The limits on connecting and on each silence."""
        import openai

        return openai.Timeout(self.timeout_s, connect=min(self.timeout_s, CONNECT_TIMEOUT_S))


def probe(url: str, api_key: str | None = None, *, timeout_s: float = 10.0) -> list[str]:
    """List the models that a server serves. Raises SettingsError, ModelServerError."""
    server = ModelServer(url, api_key, timeout_s)
    server.check()
    try:
        return _served(server)
    except foreign_errors() as error:
        raise failure(error, server) from error


def foreign_errors() -> tuple[type[Exception], ...]:
    """Name what the client libraries raise: their own errors, and whatever odd bodies provoke."""
    import openai

    return (openai.OpenAIError, ValueError, KeyError, IndexError, TypeError, AttributeError)


def failure(error: Exception, server: ModelServer, model: str = "") -> ModelServerError:
    """Translate an error of the client libraries into one line with its remedy."""
    import openai

    if isinstance(error, openai.APIConnectionError):
        said = _connection(error, server)
    elif isinstance(error, openai.APIStatusError):
        said = _status(error, server, model)
    elif isinstance(error, openai.APIError) and not isinstance(
        error, openai.APIResponseValidationError
    ):
        said = f"broke its answer off with an error{_words(error, server)}: see its log"
    else:
        said = (
            f"gave no proper OpenAI-style answer ({type(error).__name__}): see its log, and check"
            " that RAGKIT_LLM_URL is such an API's base, usually ending in /v1"
        )
    return ModelServerError(f"language-model server {server.shown} {said}")


def _connection(error: openai.APIConnectionError, server: ModelServer) -> str:
    import openai

    causes = list(_causes(error))
    names = {type(cause).__name__ for cause in causes}
    if "ConnectTimeout" in names:
        said = "cannot be reached: start it, or correct RAGKIT_LLM_URL"
    elif isinstance(error, openai.APITimeoutError):
        said = (
            f"sent nothing for {server.timeout_s:g} s: see its load, or allow it a longer timeout"
        )
    elif any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        said = "refuses connections: start it, or correct RAGKIT_LLM_URL"
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        said = "has a host name that does not resolve: correct RAGKIT_LLM_URL"
    elif any(isinstance(cause, ssl.SSLError) for cause in causes):
        said = "cannot be spoken to over TLS: check its certificate, or use http:// for plain HTTP"
    elif "ConnectError" in names:
        said = "cannot be connected to: check that it runs and that RAGKIT_LLM_URL is right"
    else:
        said = "broke the connection before its answer was complete: see its log, then ask again"
    return said


def _status(error: openai.APIStatusError, server: ModelServer, model: str) -> str:
    status, words = error.status_code, _words(error, server)
    if status in {401, 403}:
        given = "no API key was given" if server.api_key is None else "the API key is wrong"
        return f"denies access ({status}; {given}): set RAGKIT_LLM_API_KEY"
    if status == 404:
        return _not_found(server, model)
    if status == 429:
        wait = error.response.headers.get("retry-after", "")
        soon = f"in {wait} s" if wait.isascii() and wait.isdigit() else "later"
        return f"takes no more requests now (429{words}): try again {soon}"
    if status in {400, 413, 422}:
        return (
            f"rejects the request ({status}{words}): if it is too long, use a smaller context"
            " budget or serve the model with a longer context"
        )
    return f"failed ({status}{words}): see its log, or try again later"


def _not_found(server: ModelServer, model: str) -> str:
    try:
        served = _served(server)
    except foreign_errors():
        served = []
    if not model or not served or model in served:
        return (
            "has no such path (404): RAGKIT_LLM_URL must be the API's base, usually ending in /v1"
        )
    more = ", ..." if len(served) > _MAX_NAMES else ""
    names = ", ".join(_one_line(name, server) for name in served[:_MAX_NAMES])
    return f"does not serve {model!r} but {names}{more}: set RAGKIT_LLM_MODEL to one it serves"


def _served(server: ModelServer) -> list[str]:
    import openai

    with openai.OpenAI(
        base_url=server.url,
        api_key=server.api_key or NO_KEY,
        timeout=server.timeout(),
        max_retries=0,
    ) as client:
        return [str(model.id) for model in client.models.list().data]


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
