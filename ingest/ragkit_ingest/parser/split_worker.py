"""Split texts in a parser process, under its limits, and make the terms and ids of their chunks.

The model itself stays in the parent process, which also makes tokens that only it can make.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.embed.tokens import load_tokens
from ragkit.settings.ingest_options import IngestOptions
from ragkit.text.analysers import join_terms, terms_by, used_terms
from ragkit.text.language import language
from ragkit.text.passage import words_of
from ragkit.types import EmbeddingSpace
from ragkit_ingest.parser.split_wire import SplitText, requested, spans_of, told_split
from ragkit_ingest.parser.wire import Answer
from ragkit_ingest.split import splitter
from ragkit_ingest.split.own_tokens import OwnTokens

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.text.terms import Terms
    from ragkit.types import Chunk, Span
    from ragkit_ingest.split.contract import Splitter, Tokenise

# Asks the parent for something: JSON and a text; returns JSON and the parts of the reply.
Call = Callable[[dict[str, Any], bytes], tuple[Mapping[str, Any], Sequence[bytes]]]

_TERMS_CHUNKS = 256  # whose terms are in memory together; arbitrary
_SPLITTERS = 8  # kept, one for each collection's options; arbitrary


@dataclass(frozen=True, eq=False)
class MeasuringEmbedder:
    """The embedder as splitters need it: its tokens, made by `token_spans`, and its limit."""

    token_spans: Tokenise
    model: str
    max_tokens: int

    @property
    def space(self) -> EmbeddingSpace:
        """Name the model; the rest of its space is of no interest here."""
        return EmbeddingSpace(self.model, "", 0)

    def load(self) -> None:
        """Do nothing: what is needed is loaded."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Refuse: no splitter embeds."""
        raise NotImplementedError

    def embed_query(self, text: str) -> Vectors:
        """Refuse: no splitter asks questions."""
        raise NotImplementedError

    def reads(self, text: str) -> float:
        """Refuse: no splitter asks which languages a model reads."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What texts are split with; without `tokens` the parent makes them."""

    splitter: Splitter
    analyser: str
    prefix: str
    tokens: OwnTokens | None


class SplitWorker:
    """Splits texts, each by its collection's recipe."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._made = lru_cache(_SPLITTERS)(self._make)
        self._tokens = lru_cache(_SPLITTERS)(_own_tokens)

    def split(self, asked: Mapping[str, Any], parts: Sequence[bytes]) -> Answer:
        """Split a text, and make what is embedded and indexed of its chunks.

        Raises IngestError as a splitter does.
        """
        recipe = self._made(asked["recipe"])
        parsed, spans = requested(asked, parts)
        text, tokens = parsed.text, recipe.tokens
        if spans is None:
            assert tokens is not None
            spans = tokens.spans(text)
        chunks = recipe.splitter.split(parsed, spans)
        rows = None if tokens is None else tokens.rows(text, chunks, spans, recipe.prefix)
        terms = _terms(recipe.analyser, text, chunks)
        return told_split(SplitText(chunks, terms, language(text), rows or None))

    def _make(self, recipe: str) -> _Recipe:
        given = json.loads(recipe)
        folder = given["tokenizer"]
        tokens = None if folder is None else self._tokens(folder)
        make_spans = self._spans_of_parent if tokens is None else tokens.spans
        embedder = MeasuringEmbedder(make_spans, given["model"], given["max_tokens"])
        options = IngestOptions(**given["options"])
        cut = splitter(options, embedder, reserve=given["reserve"])
        return _Recipe(cut, given["analyser"], given["prefix"], tokens)

    def _spans_of_parent(self, text: str) -> Sequence[Span]:
        """Have the parent split text into the model's tokens."""
        return spans_of(*self._call({"call": "spans"}, text.encode("utf-8", "surrogatepass")))


def _own_tokens(folder: str) -> OwnTokens:
    return OwnTokens(load_tokens(Path(folder)))


def _terms(analyser: str, text: str, chunks: Sequence[Chunk]) -> Terms:
    """Make the terms of a text's chunks, of some of them at a time."""
    make = terms_by(analyser)
    parts = [
        make([words_of(text, chunk) for chunk in chunks[first : first + _TERMS_CHUNKS]])
        for first in range(0, len(chunks), _TERMS_CHUNKS)
    ]
    parts = list(map(used_terms, parts))
    return parts[0] if len(parts) == 1 else join_terms(parts)
