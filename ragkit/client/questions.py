"""The client's searches, questions and rankings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from ragkit.api_values import Ranked, ServedAnswer
from ragkit.client import chat
from ragkit.client.connection import Connection
from ragkit.client.values import value, values
from ragkit.errors import ServerError
from ragkit.types import Hit, Mode, Reasoning, Turn

if TYPE_CHECKING:
    from ragkit.contracts import Vectors


class Questions:
    """Methods of the client that need a search or a model."""

    _server: Connection

    def search(
        self,
        query: str,
        *,
        collection: str | None = None,
        k: int = 10,
        mode: Mode = "hybrid",
        filter: Mapping[str, Any] | str | None = None,
        as_of: datetime | None = None,
    ) -> tuple[Hit, ...]:
        """Return the passages that fit a query best.

        `as_of`, which has a time zone, searches the versions that were current at that moment.
        Raises QueryError, NotFoundError.
        """
        moment = None if as_of is None else as_of.isoformat()
        options = _present(collection=collection, filter=filter, as_of=moment)
        body = {"query": query, "k": k, "mode": mode} | options
        return values(Hit, self._server.json("POST", "/v1/search", body=body).get("data"))

    def ask(
        self,
        question: str,
        *,
        collection: str | None = None,
        filter: Mapping[str, Any] | str | None = None,
        as_of: datetime | None = None,
        top_k: int | None = None,
        mode: Mode | None = None,
        refusal_threshold: float | None = None,
        conversation: UUID | Literal["new"] | None = None,
        replace_last: bool = False,
        turns: Sequence[Turn] = (),
        keep: bool = False,
    ) -> ServedAnswer:
        """Answer a question with citations, or refuse; `stream` describes the parameters."""
        body = chat.request(
            question,
            stream=False,
            collection=collection,
            filter=filter,
            as_of=as_of,
            top_k=top_k,
            mode=mode,
            refusal_threshold=refusal_threshold,
            conversation=conversation,
            replace_last=replace_last,
            turns=turns,
            keep=keep,
        )
        return chat.read_completion(self._server.json("POST", chat.PATH, body=body))

    def stream(
        self,
        question: str,
        *,
        collection: str | None = None,
        filter: Mapping[str, Any] | str | None = None,
        as_of: datetime | None = None,
        top_k: int | None = None,
        mode: Mode | None = None,
        refusal_threshold: float | None = None,
        conversation: UUID | Literal["new"] | None = None,
        replace_last: bool = False,
        turns: Sequence[Turn] = (),
        keep: bool = False,
    ) -> Iterator[str | Reasoning | ServedAnswer]:
        """Yield an answer's text as it comes, then the complete answer with verified citations.

        `as_of`, which has a time zone, asks about the versions that were current at that moment.
        `conversation` is the id of a conversation that the server keeps, or "new"; with
        `replace_last` the answer replaces the last one there. `turns` are the previous turns of a
        conversation that the server does not keep. With `keep` the answer can be rated. Closing
        the iterator ends the answer. Raises IncompleteAnswerError, which holds the text so far,
        when the answer breaks off.
        """
        body = chat.request(
            question,
            stream=True,
            collection=collection,
            filter=filter,
            as_of=as_of,
            top_k=top_k,
            mode=mode,
            refusal_threshold=refusal_threshold,
            conversation=conversation,
            replace_last=replace_last,
            turns=turns,
            keep=keep,
        )
        with self._server.stream("POST", chat.PATH, body=body) as response:
            yield from chat.pieces(self._server.chunks(response))

    def embed(
        self,
        texts: str | Sequence[str],
        *,
        kind: Literal["passage", "query"] = "passage",
        model: str = "ragkit",
    ) -> Vectors:
        """Embed texts as the documents are: shape (len(texts), dimension), float32, L2 norm 1.

        A single text is a sequence of one.
        """
        import base64

        import numpy as np

        inputs = [texts] if isinstance(texts, str) else list(texts)
        body = {"model": model, "input": inputs, "kind": kind, "encoding_format": "base64"}
        data = self._server.json("POST", "/v1/embeddings", body=body).get("data")
        try:
            rows = [np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in data or ()]
            return np.stack(rows).astype(np.float32)
        except (TypeError, KeyError, ValueError) as error:
            raise ServerError("the server's embeddings cannot be read") from error

    def rerank(
        self, query: str, texts: str | Sequence[str], *, top_n: int | None = None
    ) -> tuple[Ranked, ...]:
        """Rank texts by how well they fit a query, the best first."""
        texts = [texts] if isinstance(texts, str) else list(texts)
        body = {"query": query, "documents": texts} | _present(top_n=top_n)
        rows = self._server.json("POST", "/v1/rerank", body=body).get("results")
        return tuple(
            value(Ranked, {**row, "score": row.get("relevance_score"), "text": texts[row["index"]]})
            for row in rows or ()
        )


def _present(**options: object) -> dict[str, object]:
    """Return the options that are not None; the server chooses the others."""
    return {name: option for name, option in options.items() if option is not None}
