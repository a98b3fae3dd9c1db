"""A document's canonical text, fetched in the pieces that the server cuts it into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.api_values import TextPiece
from ragkit.client.values import value
from ragkit.errors import ServerError

if TYPE_CHECKING:
    from ragkit.client.connection import Connection


def read_text(server: Connection, document: int) -> str:
    """Return the complete text of one version. Raises ServerError, NotFoundError."""
    pieces: list[TextPiece] = []
    while not pieces or pieces[-1].end < pieces[-1].chars:
        start = pieces[-1].end if pieces else 0
        body = server.json("GET", f"/v1/documents/{document}/text", params={"start": start})
        piece = value(TextPiece, body)
        if pieces and piece.version != pieces[-1].version:
            pieces = []  # it was replaced meanwhile
        elif piece.end <= start and piece.end < piece.chars:
            raise ServerError(f"the server sent no more of document {document}")
        else:
            pieces.append(piece)
    return "".join(piece.text for piece in pieces)
