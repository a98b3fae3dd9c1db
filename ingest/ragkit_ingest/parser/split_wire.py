"""Wire format of splitting: a text with its tokens, and the chunks that come back.

A process that read a hostile text is not to be believed: chunks are checked against what a splitter
promises.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.tokens import TokenSpans
from ragkit.text.normalise import clean
from ragkit.types import Chunk, Span
from ragkit_ingest.parser.wire import Answer, parsed_text, told

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.types import ParsedText

_NONE: Final = -1  # in the place of a number that a chunk does not have
_FIELDS: Final = 9  # of a chunk: start, end, tokens, page, path, lead's start and end, parent's


@dataclass(frozen=True, slots=True)
class SplitRecipe:
    """What a text is split with: the collection's options, its embedder and its analyser.

    `reserve` tokens of what the embedder reads are kept free for a header.
    """

    options: IngestOptions
    embedder: Embedder
    reserve: int
    analyser: str

    def as_json(self) -> dict[str, Any]:
        """Return what a process needs to make the splitter again."""
        return {
            "options": self.options.as_json(),
            "reserve": self.reserve,
            "analyser": self.analyser,
            "max_tokens": self.embedder.max_tokens,
            "model": self.embedder.space.model,
        }


def request(parsed: ParsedText, spans: Sequence[Span]) -> Answer:
    """Put a text and its tokens into words that JSON has, and bytes after them."""
    fields, parts = told(parsed)
    fields_of_spans, parts_of_spans = told_spans(spans)
    return (
        {"text": fields, "separable": fields_of_spans["separable"]},
        [*parts, *parts_of_spans],
    )


def requested(
    fields: Mapping[str, Any], parts: Sequence[bytes]
) -> tuple[ParsedText, Sequence[Span]]:
    """Read what `request` wrote."""
    return parsed_text(fields["text"], parts[:2]), spans_of(fields, parts[2:])


def told_spans(spans: Sequence[Span]) -> Answer:
    """Put tokens into words that JSON has, and bytes after them; their ids stay behind."""
    import numpy as np

    if isinstance(spans, TokenSpans):
        starts, ends, separable = spans.starts, spans.ends, spans.separable
    else:
        starts = np.fromiter((span.start for span in spans), np.int64, len(spans))
        ends = np.fromiter((span.end for span in spans), np.int64, len(spans))
        separable = False
    parts = [np.asarray(offsets, np.int32).tobytes() for offsets in (starts, ends)]
    return {"separable": separable}, parts


def spans_of(fields: Mapping[str, Any], parts: Sequence[bytes]) -> TokenSpans:
    """Read what `told_spans` wrote."""
    import numpy as np

    starts, ends = (np.frombuffer(part, np.int32).astype(np.int64) for part in parts)
    return TokenSpans(starts, ends, np.empty(0, np.int32), bool(fields["separable"]))


def served(
    embedder: Embedder, fields: Mapping[str, Any], parts: Sequence[bytes]
) -> tuple[dict[str, Any], list[bytes]]:
    """Split a text into tokens for a process. Raises ModelError as the embedder does."""
    if fields["call"] != "spans":
        raise ValueError(f"a process may ask for token spans only, not for {fields['call']!r}")
    return told_spans(embedder.token_spans(parts[0].decode("utf-8", "surrogatepass")))


def told_chunks(chunks: Sequence[Chunk]) -> Answer:
    """Make an answer of a text's chunks; each path of headings is written once."""
    paths: dict[tuple[str, ...], int] = {}
    numbers = array("q")
    for chunk in chunks:
        path = paths.setdefault(chunk.headings, len(paths))
        page = _NONE if chunk.page is None else chunk.page
        numbers.extend((chunk.start, chunk.end, chunk.tokens, page, path))
        for span in (chunk.lead, chunk.parent):
            numbers.extend((span.start, span.end) if span else (_NONE, _NONE))
    parts = [numbers.tobytes(), json.dumps(list(paths), ensure_ascii=False).encode()]
    return {"parts": [len(part) for part in parts]}, parts


def chunks_of(parts: Sequence[bytes], chars: int) -> tuple[Chunk, ...]:
    """Make chunks of an answer. Raises ValueError or TypeError where it makes no sense."""
    written, headings = parts
    paths = [tuple(clean(str(heading)) for heading in path) for path in json.loads(headings)]
    read = array("q")
    read.frombytes(written)
    chunks: list[Chunk] = []
    done = 0
    for row in zip(*[iter(read)] * _FIELDS, strict=True):
        start, end, tokens, page, path, *spans = row
        if not (0 <= start < end <= chars and done < end and tokens > 0 and path >= 0):
            raise ValueError(f"chunk {start}:{end} of {tokens} tokens is out of place")
        lead, parent = _span(spans[0], spans[1], chars), _span(spans[2], spans[3], chars)
        where = None if page == _NONE else page
        chunks.append(Chunk(len(chunks), start, end, tokens, where, paths[path], lead, parent))
        done = end
    return tuple(chunks)


def _span(start: int, end: int, chars: int) -> Span | None:
    if start == end == _NONE:
        return None
    if not 0 <= start <= end <= chars:
        raise ValueError(f"span {start}:{end} is out of place")
    return Span(start, end)
