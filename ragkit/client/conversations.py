"""The client's conversations and ratings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from ragkit.api_values import KeptConversation, KeptTurn, Rated, ServedAnswer
from ragkit.client.connection import Connection
from ragkit.client.uploads import write_file
from ragkit.client.values import conversation as read_conversation
from ragkit.client.values import value, values


class Conversations:
    """Methods of the client for the conversations that the server keeps, and for feedback."""

    _server: Connection

    def conversations(self, *, search: str | None = None) -> Iterator[KeptConversation]:
        """Iterate over the principal's conversations, the latest first.

        `search` selects those whose title or questions contain it.
        """
        return map(read_conversation, self._server.pages("/v1/conversations", search=search))

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
        """Write a conversation with all its turns to a new file; return its path."""
        address = f"/v1/conversations/{id}/export"
        with self._server.stream("GET", address, params={"format": format}) as response:
            return write_file(Path(path), self._server.chunks(response))

    def rate(
        self,
        answer: ServedAnswer | KeptTurn | str,
        rating: Literal["up", "down"],
        comment: str = "",
    ) -> Rated:
        """Rate an answer that was kept, or a conversation's turn.

        A second rating replaces the first. Raises NotFoundError for an answer that was not kept.
        """
        name = answer if isinstance(answer, str) else answer.id
        body = {"answer_id": name, "rating": rating, "comment": comment}
        return value(Rated, self._server.json("POST", "/v1/feedback", body=body))

    def feedback(self, *, rating: Literal["up", "down"] | None = None) -> Iterator[Rated]:
        """Iterate over everybody's ratings, the latest first; the key needs the scope admin."""
        return (value(Rated, row) for row in self._server.pages("/v1/feedback", rating=rating))

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
