"""The layout of one text: tokens, breaks, sections and leads, which decide where it is cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragkit.types import Chunk, ParsedText, Span
from ragkit_ingest.split.breaks import Breaks
from ragkit_ingest.split.contract import Tokenise
from ragkit_ingest.split.leads import Leads
from ragkit_ingest.split.outline import Outline
from ragkit_ingest.split.ruler import Ruler


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch that is to be a chunk: trimmed, with the tokens that it is embedded as."""

    start: int
    end: int
    tokens: int
    lead: Span | None = None
    parent: Span | None = None


class Layout:
    """What splitters ask of a text."""

    def __init__(
        self,
        parsed: ParsedText,
        spans: Sequence[Span],
        token_spans: Tokenise,
        breaks: type[Breaks] = Breaks,
    ) -> None:
        self.text = parsed.text
        self.ruler = Ruler(parsed.text, spans, token_spans)
        self.outline = Outline(parsed)
        self._blocks = parsed.blocks
        self._made_by = breaks

    @cached_property
    def leads(self) -> Leads:
        return Leads(self.text, self._blocks)

    @cached_property
    def breaks(self) -> Breaks:
        return self._made_by(self.text, self._blocks, self.leads)

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Draw the ends of a range in past white space."""
        text = self.text
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        return start, end

    def chunks(self, pieces: Iterable[Piece]) -> tuple[Chunk, ...]:
        """Number pieces, and say on which page and under which headings they stand."""
        outline = self.outline
        return tuple(
            Chunk(
                ordinal,
                piece.start,
                piece.end,
                piece.tokens,
                outline.page(piece.start),
                outline.path(piece.start, piece.end),
                piece.lead,
                piece.parent,
            )
            for ordinal, piece in enumerate(pieces)
        )
