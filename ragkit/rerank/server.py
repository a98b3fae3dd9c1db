"""A /rerank endpoint over HTTP, in either form that servers have.

text-embeddings-inference takes {"query", "texts"} and answers [{"index", "score"}]; vLLM, Jina's,
Cohere's and ragkit's own API take {"query", "documents"} and answer {"results": [{"index",
"relevance_score"}]}. Which one a server has is asked of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import isfinite
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from ragkit.model.batching import BATCH, BATCH_CHARS, request_batches
from ragkit.model.failover import Tries
from ragkit.model.http_client import TIMEOUT_S, HttpClient, ServerNames, StatusError
from ragkit.settings.secrets import masked

if TYPE_CHECKING:
    import httpx

Form = Literal["texts", "documents"]

# Somebody waits for the answer: one more try, and soon. Arbitrary.
TRIES: Final = Tries(rounds=2, backoff_s=0.2, longest_wait_s=2.0)
# Of an address that is not there, or does not take this form.
_NOT_THIS: Final = frozenset({400, 404, 405, 415, 422})
_NAMES: Final = ServerNames(
    server="reranker",
    url_setting="RAGKIT_RERANKER",
    key_setting="RAGKIT_RERANKER_API_KEY",
    address="the address of a /rerank endpoint",
    not_found="has no such path or model",
    found_by=(
        "RAGKIT_RERANKER must be the address of a /rerank endpoint, and RAGKIT_RERANKER_MODEL a"
        " model there"
    ),
)


class ServerReranker:
    """Rerank by a server; `url` is its /rerank address, or the base that this is added to.

    Scores are what the server says, its model's activation applied; `model` is named to it. A
    request is bounded and tried again as `ragkit.model.http_client` says.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: Tries = TRIES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._shown = masked("reranker", self._url)
        self._model = model
        self._key = api_key
        self._timeout_s = timeout_s
        self._tries = tries
        self._transport = transport
        self._ready: _Endpoint | None = None
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
        with ExitStack() as unkept:
            client = HttpClient(
                _NAMES, self._shown, api_key=self._key, timeout_s=self._timeout_s,
                tries=self._tries, transport=self._transport,
            )  # fmt: skip
            unkept.callback(client.close)
            # Asked without the lock: behind a server that hangs, callers would wait in a queue.
            endpoint = self._find(client)
            with self._lock:
                if self._ready is None:
                    self._ready = endpoint
                    unkept.pop_all()

    def _find(self, client: HttpClient) -> _Endpoint:
        """Try the addresses and forms in turn. Raises ModelServerError: the first one's answer."""
        first: StatusError | None = None
        for url, form in _addresses(self._url):
            endpoint = _Endpoint(client, url, form, self._model)
            try:
                endpoint.scores("warm", ["up"])
            except StatusError as error:
                if error.status not in _NOT_THIS:
                    raise
                first = first or error
            else:
                return endpoint
        assert first is not None
        raise first

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Score each passage, in the given order. Raises ModelServerError, WorkCancelledError."""
        if not passages:
            return []
        if self._ready is None:
            self.load()
        assert self._ready is not None
        scores: list[float] = []
        for first, end in request_batches(passages, BATCH, BATCH_CHARS):
            scores += self._ready.scores(query, passages[first:end])
        return scores


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """An address of the server, and the form that it takes."""

    client: HttpClient
    url: str
    form: Form
    model: str | None

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Ask for the scores of one batch, in its order."""
        content = json.dumps(_body(self.form, self.model, query, passages)).encode()
        # Servers may repeat the texts, a character of them as up to six (a \u escape).
        answer = self.client.post(self.url, content, 65_536 + 6 * len(content))
        try:
            return _scores(answer, len(passages))
        except (ValueError, RecursionError) as error:
            raise self.client.improper(str(error)) from error


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
