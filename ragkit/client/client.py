"""The client itself: one method for each thing that a server does.

Synchronous, and safe to use from several threads. It knows nothing of HTTP's failures.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote
from uuid import UUID, uuid4

from ragkit.client import chat
from ragkit.client.connection import Connection
from ragkit.client.text import whole_text
from ragkit.client.uploads import Upload, multipart, write_file
from ragkit.client.values import (
    Job,
    KeptConversation,
    KeptTurn,
    Ranked,
    Rated,
    ServedAnswer,
    ServedCollection,
    ServedVersion,
    value,
    values,
)
from ragkit.client.values import collection as read_collection
from ragkit.client.values import conversation as read_conversation
from ragkit.errors import BusyError, IngestError, ServerError
from ragkit.types import Document, Hit, Mode, Reasoning, Turn

if TYPE_CHECKING:
    import httpx

    from ragkit.contracts import Vectors

PAGE = 100  # the most that a server lists at a time


class Client:
    """A client of the ragkit server at `base_url`, with an access key where it asks for one.

    >>> with Client("http://127.0.0.1:8080") as client:  # doctest: +SKIP
    ...     print(client.ask("How many days of leave do I have?").text)

    `timeout_s` bounds each silence of the server, not a whole answer. What is safe to send again is
    tried up to four times. Every method raises ServerError for a server that fails, OverloadedError
    for one that is full, and AccessError for what the key may not do; the message is the server's.
    `transport` is for tests.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8080",
        api_key: str | None = None,
        *,
        timeout_s: float = 120.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._server = Connection(base_url, api_key, timeout_s=timeout_s, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._server.base_url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    # Questions

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
        """Find the passages that fit a query best; with `as_of`, of what was current then.

        It has a time zone. Raises QueryError, NotFoundError.
        """
        then = None if as_of is None else as_of.isoformat()
        given = _given(collection=collection, filter=filter, as_of=then)
        body = {"query": query, "k": k, "mode": mode} | given
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
        """Answer a question with citations, or refuse; see `stream` for what it is asked with."""
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
        return chat.whole(self._server.json("POST", chat.PATH, body=body))

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
        """Yield an answer's text as it comes, then the whole answer with verified citations.

        `as_of` has a time zone, and asks what was current then, of versions that were kept.
        `conversation` is the id of one that the server keeps, or "new"; with `replace_last` the
        answer takes the place of the last one there. `turns` are those before in a conversation
        that the server does not keep. With `keep` the answer can be rated. Closing the iterator
        ends the answer. Raises IncompleteAnswerError, with the text so far, when it breaks off.
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

        given = [texts] if isinstance(texts, str) else list(texts)
        body = {"model": model, "input": given, "kind": kind, "encoding_format": "base64"}
        data = self._server.json("POST", "/v1/embeddings", body=body).get("data")
        try:
            rows = [np.frombuffer(base64.b64decode(one["embedding"]), "<f4") for one in data or ()]
            return np.stack(rows).astype(np.float32)
        except (TypeError, KeyError, ValueError) as error:
            raise ServerError("the server's embeddings cannot be read") from error

    def rerank(
        self, query: str, texts: str | Sequence[str], *, top_n: int | None = None
    ) -> tuple[Ranked, ...]:
        """Put texts in order for a query, the best first."""
        texts = [texts] if isinstance(texts, str) else list(texts)
        body = {"query": query, "documents": texts} | _given(top_n=top_n)
        found = self._server.json("POST", "/v1/rerank", body=body).get("results")
        return tuple(
            value(Ranked, {**one, "score": one.get("relevance_score"), "text": texts[one["index"]]})
            for one in found or ()
        )

    # Collections and documents

    def collections(self) -> Iterator[ServedCollection]:
        """Iterate over the collections that the key may see."""
        return map(read_collection, self._pages("/v1/collections"))

    def create_collection(self, name: str) -> ServedCollection:
        """Create a collection, or return the one that has the name."""
        return read_collection(self._server.json("POST", "/v1/collections", body={"id": name}))

    def rename_collection(self, name: str, new: str) -> ServedCollection:
        """Give a collection another name; conversations and keys that are for it follow.

        Raises NotFoundError, UsageError for a name that is taken, BusyError while files are being
        taken into it.
        """
        path = f"/v1/collections/{_quoted(name)}"
        return read_collection(self._server.json("PATCH", path, body={"id": new}))

    def delete_collection(self, name: str) -> None:
        """Delete a collection with everything in it. Raises NotFoundError."""
        self._server.json("DELETE", f"/v1/collections/{_quoted(name)}")

    def documents(self, collection: str) -> Iterator[Document]:
        """Iterate over a collection's documents. Raises NotFoundError."""
        found = self._pages(f"/v1/collections/{_quoted(collection)}/documents")
        return (value(Document, one) for one in found)

    def document(self, document: int) -> Document:
        """Look a document up. Raises NotFoundError."""
        return value(Document, self._server.json("GET", f"/v1/documents/{document}"))

    def upload(
        self, collection: str, files: Upload | Sequence[Upload], *, key: str | None = None
    ) -> tuple[Job, ...]:
        """Send one file or several, as paths or (name, bytes), to be taken in; return their jobs.

        The same request is never taken twice: `key`, made up unless given, is its idempotency key.
        Raises NotFoundError for a path that is not there.
        """
        path = f"/v1/collections/{_quoted(collection)}/documents"
        body = self._server.json(
            "POST", path, files=lambda: multipart(files), key=key or str(uuid4())
        )
        return values(Job, body.get("data"))

    def replace(self, document: int, file: Upload, *, key: str | None = None) -> Job:
        """Send another version of a document; the old one is there until the new one is ready."""
        body = self._server.json(
            "PUT",
            f"/v1/documents/{document}/source",
            files=lambda: multipart([file]),
            key=key or str(uuid4()),
        )
        (job,) = values(Job, body.get("data"))
        return job

    def delete(self, document: int) -> None:
        """Delete a document. Raises NotFoundError."""
        self._server.json("DELETE", f"/v1/documents/{document}")

    def versions(self, document: int) -> tuple[ServedVersion, ...]:
        """List a document's versions, the current one first. Raises NotFoundError."""
        found = self._server.json("GET", f"/v1/documents/{document}/versions").get("data")
        return values(ServedVersion, found)

    def restore(self, document: int, version: int) -> Document:
        """Make an old version of a document the current one again, as a new version.

        Raises NotFoundError for one that was not kept, UsageError for one of another embedding
        model than the collection's.
        """
        path = f"/v1/documents/{document}/versions/{version}/restore"
        return value(Document, self._server.json("POST", path))

    def source(self, document: int, path: str | os.PathLike[str]) -> Path:
        """Write the file that a document was uploaded as to a new file; return its path.

        Raises UsageError for a file that is there already or cannot be written.
        """
        with self._server.stream("GET", f"/v1/documents/{document}/source") as response:
            return write_file(Path(path), self._server.chunks(response))

    def text(self, document: int) -> str:
        """Return a document's whole text, which every offset counts in."""
        return whole_text(self._server, document)

    # Jobs

    def job(self, job: int) -> Job:
        """Look a job up. Raises NotFoundError."""
        return value(Job, self._server.json("GET", f"/v1/jobs/{job}"))

    def jobs(
        self, *, state: Literal["queued", "running", "done", "failed"] | None = None
    ) -> Iterator[Job]:
        """Iterate over the jobs, the latest first."""
        return (value(Job, one) for one in self._pages("/v1/jobs", state=state))

    def wait(self, job: Job | int, timeout_s: float = 600.0) -> Job:
        """Wait until a job is done and return it.

        Raises IngestError when it failed, BusyError when it is not done in time.
        """
        number = job if isinstance(job, int) else job.id
        deadline, pause_s = time.monotonic() + timeout_s, 0.1
        while True:
            now = self.job(number)
            if now.state == "failed":
                raise IngestError(now.stage, f"{now.reason} ({now.name})")
            if now.state == "done":
                return now
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise BusyError(
                    f"job {number} ({now.name}) is {now.state} after {timeout_s:g} s: wait longer,"
                    " and see that an ingestion worker runs"
                )
            time.sleep(min(pause_s, left_s))
            pause_s = min(pause_s * 1.5, 2.0)

    # Conversations and feedback

    def conversations(self, *, search: str | None = None) -> Iterator[KeptConversation]:
        """Iterate over one's conversations, the latest first.

        With `search`, those that have it in their title or a question.
        """
        return map(read_conversation, self._pages("/v1/conversations", search=search))

    def conversation(self, id: UUID) -> KeptConversation:
        """Look a conversation up. Raises NotFoundError."""
        return read_conversation(self._conversation("GET", id))

    def turns(self, id: UUID) -> tuple[KeptTurn, ...]:
        """List a conversation's turns, oldest first. Raises NotFoundError."""
        return values(KeptTurn, self._conversation("GET", id).get("turns"))

    def rename_conversation(self, id: UUID, title: str) -> KeptConversation:
        """Give a conversation another title. Raises NotFoundError, UsageError."""
        return read_conversation(self._conversation("PATCH", id, {"title": title}))

    def delete_conversation(self, id: UUID) -> None:
        """Delete a conversation with everything in it. Raises NotFoundError."""
        self._conversation("DELETE", id)

    def export_conversation(
        self,
        id: UUID,
        path: str | os.PathLike[str],
        *,
        format: Literal["json", "markdown"] = "json",
    ) -> Path:
        """Write everything of a conversation to a new file; return its path."""
        where = f"/v1/conversations/{id}/export"
        with self._server.stream("GET", where, params={"format": format}) as response:
            return write_file(Path(path), self._server.chunks(response))

    def rate(
        self,
        answer: ServedAnswer | KeptTurn | str,
        rating: Literal["up", "down"],
        comment: str = "",
    ) -> Rated:
        """Say what one thinks of an answer that was kept, or of a conversation's turn.

        A second rating takes the first one's place. Raises NotFoundError for one not kept.
        """
        name = answer if isinstance(answer, str) else answer.id
        body = {"answer_id": name, "rating": rating, "comment": comment}
        return value(Rated, self._server.json("POST", "/v1/feedback", body=body))

    def feedback(self, *, rating: Literal["up", "down"] | None = None) -> Iterator[Rated]:
        """Iterate over everybody's ratings, the latest first; the key needs the scope admin."""
        return (value(Rated, one) for one in self._pages("/v1/feedback", rating=rating))

    def export_feedback(self, path: str | os.PathLike[str]) -> Path:
        """Write everybody's ratings as evaluation items, JSON lines, to a new file."""
        with self._server.stream("GET", "/v1/feedback/export") as response:
            return write_file(Path(path), self._server.chunks(response))

    def delete_rating(self, rating: Rated | int) -> None:
        """Delete a rating with its copies of question and answer. Raises NotFoundError."""
        number = rating if isinstance(rating, int) else rating.id
        self._server.json("DELETE", f"/v1/feedback/{number}")

    def _conversation(
        self, method: str, id: UUID, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return self._server.json(method, f"/v1/conversations/{UUID(str(id))}", body=body)

    def _pages(self, path: str, **params: Any) -> Iterator[object]:
        after: str | None = None
        while True:
            page = self._server.json("GET", path, params={"limit": PAGE, "after": after, **params})
            yield from page.get("data") or ()
            last = page.get("last_id")
            if not page.get("has_more") or last in {None, after}:
                return
            after = str(last)


def _given(**options: object) -> dict[str, object]:
    return {name: given for name, given in options.items() if given is not None}


def _quoted(name: str) -> str:
    return quote(name, safe="")
