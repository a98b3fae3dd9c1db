"""An OpenAI-compatible server of embeddings over HTTP: its models, its limits, its vectors.

It knows nothing of tokens, prefixes or spaces, which `ragkit.model.served_embedder` has.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import ModelServerBusyError, ModelServerError
from ragkit.model.embedding_answer import (
    MAX_DIMENSION,
    NUMBER_BYTES,
    Embeddings,
    read_embeddings,
)
from ragkit.model.failover import Tries
from ragkit.model.failures import refused
from ragkit.model.server import CONNECT_TIMEOUT_S, Served
from ragkit.model.statuses import may_pass, status_meaning
from ragkit.settings.secrets import masked
from ragkit.system.cancellation import check_cancelled, current_cancellation

if TYPE_CHECKING:
    import httpx

TIMEOUT_S: Final = 60.0  # arbitrary: of one batch, whole
_LIST_BYTES: Final = 4_000_000  # of an answer that is no embeddings; arbitrary, /v1/models is short
_QUOTED_CHARS: Final = 200


class EmbeddingServer:
    """Ask a server for embeddings; `url` is the API's base, usually ending in /v1.

    A request is sent again as `tries` says when the connection breaks, or when the server answers
    that it is busy or failed. `timeout_s` bounds each try.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: Tries | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/").removesuffix("/embeddings")
        self.shown = masked("embed_url", self.url)
        self._key = api_key
        self._timeout_s = timeout_s
        self._tries = tries or Tries()
        self._transport = transport
        self._opened: httpx.Client | None = None
        self._lock = Lock()

    def models(self) -> Sequence[Served]:
        """List the server's models. Raises ModelServerError."""
        value = self._object(self._sent(f"{self.url}/models", None, _LIST_BYTES))
        rows = value.get("data")
        named = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return [
            Served(row["id"], _count(row.get("max_model_len")))
            for row in named
            if isinstance(row.get("id"), str) and row["id"]
        ]

    def input_tokens(self) -> int | None:
        """Return how many tokens text-embeddings-inference says that its model reads, or None."""
        root = self.url.removesuffix("/v1")
        try:
            value = self._object(self._sent(f"{root}/info", None, _LIST_BYTES))
        except ModelServerError:
            return None
        return _count(value.get("max_input_length"))

    def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        """Embed texts, in their order. Raises ModelServerError, ModelServerBusyError."""
        content = json.dumps(
            {"model": model, "input": list(texts), "encoding_format": "float"}
        ).encode()
        limit = _LIST_BYTES + len(texts) * MAX_DIMENSION * NUMBER_BYTES
        answer = self._sent(f"{self.url}/embeddings", content, limit)
        try:
            return read_embeddings(answer, len(texts))
        except (ValueError, RecursionError) as error:
            raise self._improper(str(error)) from error

    def error(self, problem: str) -> ModelServerError:
        """Return an error that names the server."""
        return ModelServerError(f"embedding server {self.shown} {problem}")

    def _object(self, answer: bytes) -> dict[str, Any]:
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise self._improper(str(error)) from error
        if not isinstance(value, dict):
            raise self._improper("it is no object")
        return value

    def _improper(self, problem: str) -> ModelServerError:
        return self.error(
            f"gave no proper answer ({_line(problem)}): see that RAGKIT_EMBED_URL is the base of"
            " an OpenAI-style API, usually ending in /v1"
        )

    def _sent(self, url: str, content: bytes | None, limit: int) -> bytes:
        """Send a request, again where that may help, and read an answer of at most `limit` bytes.

        Without content it is a GET.
        """
        for turn in range(1, self._tries.rounds + 1):
            check_cancelled()
            try:
                return self._answer(url, content, limit)
            except _PassingError as error:
                if turn == self._tries.rounds or error.wait_s > self._tries.longest_wait_s:
                    raise error.failure from error.__cause__
                backoff_s = self._tries.backoff_s * 2.0 ** (turn - 1) * random.uniform(0.5, 1.0)  # noqa: S311  a pause, no secret
                _Pause().take(max(backoff_s, error.wait_s))
        raise AssertionError("the last try returns or raises")

    def _answer(self, url: str, content: bytes | None, limit: int) -> bytes:
        import httpx

        try:
            return self._exchange(url, content, limit)
        except httpx.TimeoutException as error:
            raise self.error(
                f"did not answer within {self._timeout_s:g} s: see its load"
            ) from error
        except httpx.RequestError as error:
            failure = self.error(
                f"cannot be reached ({_line(str(error))}): start it, or correct RAGKIT_EMBED_URL"
            )
            raise _PassingError(failure) from error
        except httpx.InvalidURL as error:
            raise self.error(f"is no address ({error}): correct RAGKIT_EMBED_URL") from error

    def _exchange(self, url: str, content: bytes | None, limit: int) -> bytes:
        until = time.monotonic() + self._timeout_s
        method = "GET" if content is None else "POST"
        headers = {"content-type": "application/json"} if content is not None else {}
        with self._client().stream(method, url, content=content, headers=headers) as response:
            read = bytearray()
            for chunk in response.iter_bytes():
                check_cancelled()
                read += chunk
                if len(read) > limit:
                    raise self.error(f"sent more than {limit:,} bytes: see its log")
                if time.monotonic() > until:
                    raise self.error(f"was not done after {self._timeout_s:g} s: see its load")
        if response.status_code != 200:
            raise self._refusal(response.status_code, bytes(read), response.headers)
        return bytes(read)

    def _refusal(
        self, status: int, answer: bytes, headers: Mapping[str, str]
    ) -> ModelServerError | _PassingError:
        words = _line(answer.decode("utf-8", "replace"))
        if self._key:
            words = words.replace(self._key, "***")
        meaning = status_meaning(status)
        if meaning == "denied":
            reason = "the API key is wrong" if self._key else "no API key was given"
            return self.error(f"denies access ({status}; {reason}): set RAGKIT_EMBED_API_KEY")
        if meaning in {"no path", "no method"}:
            return self.error(
                f"has no such path or model ({status}; {words}): RAGKIT_EMBED_URL must be the"
                " API's base, usually ending in /v1, and RAGKIT_EMBED_MODEL a model there"
            )
        if not may_pass(status):
            return self.error(f"rejects the request ({status}; {words}): see its log")
        problem = "takes no more requests now" if meaning == "busy" else "failed"
        failure = refused(
            str(self.error(f"{problem} ({status}; {words}): see its load and its log")),
            status,
            headers,
        )
        return _PassingError(failure)

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


class _PassingError(Exception):
    """A failure that may be over at the next try, after `wait_s` where the server set a time."""

    def __init__(self, failure: ModelServerError) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.wait_s = failure.retry_after_s if isinstance(failure, ModelServerBusyError) else 0.0


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


def _count(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _line(words: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= _QUOTED_CHARS else line[:_QUOTED_CHARS] + "..."
