"""A /rerank endpoint over HTTP, in either form that servers have.

text-embeddings-inference takes {"query", "texts"} and answers [{"index", "score"}]; vLLM, Jina's,
Cohere's and ragkit's own API take {"query", "documents"} and answer {"results": [{"index",
"relevance_score"}]}. Which one a server has is asked of it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import isfinite
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from ragkit.errors import ModelServerError
from ragkit.model.failures import refused
from ragkit.model.statuses import is_busy
from ragkit.settings.secrets import masked
from ragkit.system.cancellation import check_cancelled

if TYPE_CHECKING:
    import httpx

Form = Literal["texts", "documents"]

BATCH: Final = 32  # text-embeddings-inference's own default for --max-client-batch-size
BATCH_CHARS: Final = 200_000  # arbitrary: well under the 2 MB that it takes by default
CONNECT_TIMEOUT_S: Final = 5.0
TIMEOUT_S: Final = 60.0  # arbitrary: of one batch, whole
_QUOTED_CHARS: Final = 200
# Of an address that is not there, or does not take this form.
_NOT_THIS: Final = frozenset({400, 404, 405, 415, 422})


class ServerReranker:
    """Rerank by a server; `url` is its /rerank address, or the base that this is added to.

    Scores are what the server says, its model's activation applied; `model` is named to it.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._shown = masked("reranker", self._url)
        self._model = model
        self._key = api_key
        self._timeout_s = timeout_s
        self._transport = transport
        self._ready: tuple[httpx.Client, str, Form] | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """Name the server, without what is secret in its address, and the model."""
        return f"{self._shown} {self._model or ''}".strip()

    def load(self) -> None:
        """Ask the server for one score, and keep the form that it has; a second call does nothing.

        Raises ModelServerError.
        """
        if self._ready is not None:
            return
        import httpx

        timeout = httpx.Timeout(self._timeout_s, connect=min(self._timeout_s, CONNECT_TIMEOUT_S))
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        with ExitStack() as unkept:
            client = httpx.Client(timeout=timeout, headers=headers, transport=self._transport)
            unkept.callback(client.close)
            # Asked without the lock: behind a server that hangs, callers would wait in a queue.
            url, form = self._detect(client)
            with self._lock:
                if self._ready is None:
                    self._ready = (client, url, form)
                    unkept.pop_all()

    def _detect(self, client: httpx.Client) -> tuple[str, Form]:
        """Try the addresses and forms in turn. Raises ModelServerError: the first one's answer."""
        first: ModelServerError | None = None
        for url, form in _addresses(self._url):
            try:
                self._batch(client, url, form, "warm", ["up"])
            except _RefusedError as refused:
                if refused.status not in _NOT_THIS:
                    raise
                first = first or refused
            else:
                return url, form
        assert first is not None
        raise first

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Score each passage, in the given order. Raises ModelServerError."""
        if not passages:
            return []
        if self._ready is None:
            self.load()
        assert self._ready is not None
        client, url, form = self._ready
        return [
            score
            for batch in _batches(passages)
            for score in self._batch(client, url, form, query, batch)
        ]

    def _batch(
        self, client: httpx.Client, url: str, form: Form, query: str, passages: Sequence[str]
    ) -> list[float]:
        check_cancelled()
        answer = self._post(client, url, _body(form, self._model, query, passages))
        try:
            return _scores(answer, len(passages))
        except (ValueError, RecursionError) as error:
            raise ModelServerError(
                f"reranker {self._shown} gave no proper answer ({error}): see that"
                " RAGKIT_RERANKER is the address of a /rerank endpoint"
            ) from error

    def _post(self, client: httpx.Client, url: str, body: dict[str, Any]) -> bytes:
        """Send a body, once more when the connection fails, and read an answer of bounded size."""
        import httpx

        content = json.dumps(body).encode()
        for retried in (False, True):
            try:
                return self._answer(client, url, content)
            except httpx.TimeoutException as error:
                raise self._error(
                    f"did not answer within {self._timeout_s:g} s: see its load"
                ) from error
            except httpx.TransportError as error:
                if retried:
                    raise self._error(
                        f"cannot be reached ({_line(str(error))}): start it, or correct"
                        " RAGKIT_RERANKER"
                    ) from error
            except httpx.InvalidURL as error:
                raise self._error(f"is no address ({error}): correct RAGKIT_RERANKER") from error
        raise AssertionError("the second try returns or raises")

    def _answer(self, client: httpx.Client, url: str, content: bytes) -> bytes:
        until = time.monotonic() + self._timeout_s
        # Servers may repeat the texts, a character of them as up to six (a \u escape).
        limit = 65_536 + 6 * len(content)
        headers = {"content-type": "application/json"}
        with client.stream("POST", url, content=content, headers=headers) as response:
            read = bytearray()
            for chunk in response.iter_bytes():
                read += chunk
                if len(read) > limit:
                    raise self._error(f"sent more than {limit:,} bytes: see its log")
                if time.monotonic() > until:
                    raise self._error(f"was not done after {self._timeout_s:g} s: see its load")
        status = response.status_code
        if is_busy(status):
            raise refused(self._refusal(status, bytes(read)), status, response.headers)
        if status != 200:
            raise _RefusedError(self._refusal(status, bytes(read)), status)
        return bytes(read)

    def _refusal(self, status: int, answer: bytes) -> str:
        words = _line(answer.decode("utf-8", "replace"))
        if self._key:
            words = words.replace(self._key, "***")
        if status in (401, 403):
            return str(self._error(f"denies access ({status}): set RAGKIT_RERANKER_API_KEY"))
        return str(self._error(f"rejects the request ({status}; {words}): see its log"))

    def _error(self, problem: str) -> ModelServerError:
        return ModelServerError(f"reranker {self._shown} {problem}")


class _RefusedError(ModelServerError):
    """An answer with another status than 200."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Place:
    index: int
    score: float


def _addresses(url: str) -> Iterator[tuple[str, Form]]:
    """List where a server may take which form, the likelier first."""
    path = urlsplit(url).path
    if path.endswith("/rerank"):
        urls = [url]
    elif path:
        urls = [f"{url}/rerank"]
    else:
        urls = [f"{url}/rerank", f"{url}/v1/rerank"]
    for address in urls:
        yield address, "documents"
        yield address, "texts"


def _body(form: Form, model: str | None, query: str, passages: Sequence[str]) -> dict[str, Any]:
    if form == "texts":
        # Without `truncate` a passage that is too long fails the whole batch.
        return {"query": query, "texts": list(passages), "raw_scores": False, "truncate": True}
    named = {"model": model} if model else {}
    return {**named, "query": query, "documents": list(passages)}


def _batches(passages: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for passage in passages:
        if batch and (len(batch) == BATCH or size + len(passage) > BATCH_CHARS):
            yield batch
            batch, size = [], 0
        batch.append(passage)
        size += len(passage)
    yield batch


def _scores(answer: bytes, count: int) -> list[float]:
    """Read the scores of either form, in the order of the passages. Raises ValueError."""
    value = json.loads(answer)
    rows = value.get("results") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise ValueError("it holds no list of results")
    places = [_place(row) for row in rows]
    if sorted(place.index for place in places) != list(range(count)):
        raise ValueError(f"its indices are not those of {count} passages, each once")
    return [place.score for place in sorted(places, key=lambda place: place.index)]


def _place(row: object) -> _Place:
    if not isinstance(row, dict):
        raise ValueError("a result is no object")
    index = row.get("index")
    score = row.get("relevance_score", row.get("score"))
    if not isinstance(index, int) or isinstance(index, bool):
        raise ValueError("a result has no index")
    if not isinstance(score, int | float) or isinstance(score, bool) or not isfinite(score):
        raise ValueError("a result has no finite score")
    return _Place(index, float(score))


def _line(words: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= _QUOTED_CHARS else line[:_QUOTED_CHARS] + "..."
