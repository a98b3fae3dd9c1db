"""Split texts in a parser process, and make their terms once under its limits.

The embedder stays in the parent process, which answers for it. Terms are made again where the text
is stored: what takes too long, or too much memory, does so here first, under limits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ragkit.settings.ingest_options import IngestOptions
from ragkit.text.analysers import terms_by
from ragkit.text.passage import words_of
from ragkit.types import EmbeddingSpace
from ragkit_ingest.parser.split_wire import requested, spans_of, told_chunks
from ragkit_ingest.parser.wire import Answer
from ragkit_ingest.split import splitter

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.types import Span
    from ragkit_ingest.split.contract import Splitter

# Asks the parent for something: JSON and a text; returns JSON and the parts of the reply.
Call = Callable[[dict[str, Any], bytes], tuple[Mapping[str, Any], Sequence[bytes]]]

_TERMS_CHUNKS = 256  # whose terms are in memory together; arbitrary
_SPLITTERS = 8  # kept, one for each collection's options; arbitrary


@dataclass(frozen=True, eq=False)
class ParentEmbedder:
    """The embedder of the parent process."""

    call: Call
    model: str
    max_tokens: int

    @property
    def space(self) -> EmbeddingSpace:
        """Name the model; the rest of its space is of no interest here."""
        return EmbeddingSpace(self.model, "", 0)

    def load(self) -> None:
        """Do nothing: the parent has loaded it."""

    def token_spans(self, text: str) -> Sequence[Span]:
        """Split text into the model's tokens."""
        return spans_of(*self.call({"call": "spans"}, text.encode("utf-8", "surrogatepass")))

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Refuse: no splitter embeds."""
        raise NotImplementedError

    def embed_query(self, text: str) -> Vectors:
        """Refuse: no splitter asks questions."""
        raise NotImplementedError

    def reads(self, text: str) -> float:
        """Refuse: no splitter asks which languages a model reads."""
        raise NotImplementedError


class SplitWorker:
    """Splits texts, each by its collection's recipe."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._made = lru_cache(_SPLITTERS)(self._make)

    def split(self, asked: Mapping[str, Any], parts: Sequence[bytes]) -> Answer:
        """Split a text, and make the terms of its chunks. Raises IngestError as a splitter does."""
        recipe = asked["recipe"]
        parsed, spans = requested(asked, parts)
        chunks = self._made(json.dumps(recipe, sort_keys=True)).split(parsed, spans)
        terms = terms_by(recipe["analyser"])
        for first in range(0, len(chunks), _TERMS_CHUNKS):
            terms([words_of(parsed.text, chunk) for chunk in chunks[first : first + _TERMS_CHUNKS]])
        return told_chunks(chunks)

    def _make(self, recipe: str) -> Splitter:
        given = json.loads(recipe)
        embedder = ParentEmbedder(self._call, given["model"], given["max_tokens"])
        options = IngestOptions(**given["options"])
        return splitter(options, embedder, reserve=given["reserve"])
