"""What is embedded of a document's chunks, as tokens that were made once, and embedding it.

Before a chunk stand its header, where the collection's options ask for one, and its lead: both are
embedded and never quoted. It knows nothing of files, jobs or the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ragkit.embed.contract import by_ids
from ragkit.embed.headers import Headers
from ragkit.embed.passages import embed_rows, embed_texts
from ragkit.embed.tokens import APART, TokenSpans
from ragkit.text.passage import words_of
from ragkit_ingest.split.own_tokens import ids_of_chunks

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Vectors
    from ragkit.embed.contract import Row, TokenEmbedder
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.types import Chunk, NewDocument, Span

    Rows = Sequence[Row] | Sequence[str]  # ids for an embedder that takes them, else texts


class Embedding:
    """Embeds the chunks of a collection's documents; the first use loads the embedder."""

    def __init__(self, embedder: Embedder, options: IngestOptions) -> None:
        self._embedder = embedder
        self._inner = by_ids(embedder)
        self._long = options.long_chunks
        self._headers = Headers(embedder) if options.chunk_header == "on" else None

    @property
    def reserve(self) -> int:
        """Count the tokens that a splitter is to keep free for the header."""
        return self._headers.max_tokens if self._headers else 0

    def rows(self, document: NewDocument, spans: Sequence[Span] | None = None) -> Rows:
        """Return what is embedded of each chunk; `embed` takes it.

        `spans` are the tokens of the document's whole text as the embedder made them: a chunk's
        are then cut out of them, and made again only where the cut may change them.
        """
        self._embedder.load()
        headers = [self._header(document, chunk) for chunk in document.chunks]
        if self._inner is not None and isinstance(spans, TokenSpans):
            return _cut_out(self._inner, document, spans, headers)
        texts = [
            before + words_of(document.text, chunk)
            for before, chunk in zip(headers, document.chunks, strict=True)
        ]
        return texts if self._inner is None else self._inner.passage_ids(texts)

    def embed(self, rows: Rows) -> Vectors:
        """Embed some rows, of any documents: shape (len(rows), dimension).

        Raises ModelError for one of more tokens than the model reads, unless the options say how
        such a one is pooled.
        """
        if self._inner is None:
            return embed_texts(self._embedder, cast("Sequence[str]", rows), self._long)[0]
        return embed_rows(self._inner, cast("Sequence[Row]", rows), self._long)[0]

    def _header(self, document: NewDocument, chunk: Chunk) -> str:
        return self._headers.of(document.title, chunk.headings) if self._headers else ""


def _cut_out(
    embedder: TokenEmbedder, document: NewDocument, spans: TokenSpans, headers: Sequence[str]
) -> list[Row]:
    """Cut the ids of a document's chunks out of those of its text, and put them together."""
    import numpy as np

    text = document.text
    prefix = embedder.space.passage_prefix
    joins = not prefix or APART.match(prefix[-1]) is not None
    begins: dict[str, Row] = {}  # the ids of the prefix and a header
    rows: list[Row] = []
    again: dict[int, str] = {}  # chunks whose ids are not those of the text, by their place
    ids = ids_of_chunks(text, document.chunks, spans)
    for place, (before, chunk) in enumerate(zip(headers, document.chunks, strict=True)):
        own = ids[place]
        if own is None or not joins:
            again[place] = before + words_of(text, chunk)
            rows.append(spans.ids[:0])
            continue
        if before not in begins:
            begins[before] = embedder.passage_ids([before])[0]
        rows.append(np.concatenate((begins[before], own)))
    made = embedder.passage_ids(list(again.values()))
    for place, row in zip(again, made, strict=True):
        rows[place] = row
    return rows
