"""Wire format of splitting: a text, and its chunks with what is embedded and indexed of each.

A process that read a hostile text is not to be believed: what comes back is checked against what a
splitter promises.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.find import find_model, read_json
from ragkit.embed.local import LocalEmbedder
from ragkit.embed.tokens import TokenSpans
from ragkit.errors import ModelError
from ragkit.text.analyse import MAX_TERM_CHARS
from ragkit.text.normalise import clean
from ragkit.text.terms import Terms
from ragkit.types import Chunk, Span
from ragkit_ingest.parser.wire import Answer, parsed_text, told

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Embedder
    from ragkit.embed.contract import Row
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.types import ParsedText

_NONE: Final = -1  # in the place of a number that a chunk does not have
_FIELDS: Final = 9  # of a chunk: start, end, tokens, page, path, lead's start and end, parent's
# Of longer texts the parent makes the tokens, where that is no part of what one file may use.
_MOST_CHARS: Final = 2_000_000  # arbitrary
_MOST_LANGUAGE_CHARS: Final = 3


@dataclass(frozen=True)
class SplitRecipe:
    """What a text is split with: the collection's options, its embedder and its analyser.

    `reserve` tokens of what the embedder reads are kept free for a header.
    """

    options: IngestOptions
    embedder: Embedder
    reserve: int
    analyser: str

    def does_tokenise(self, text: str) -> bool:
        """Tell whether the process makes the text's tokens itself."""
        return self._tokenizer is not None and len(text) <= _MOST_CHARS

    def as_json(self, *, tokenises: bool) -> str:
        """Return what a process needs to make the splitter again, as JSON."""
        return self._as_json[tokenises]

    @property
    def most_ids(self) -> int:
        """Count the ids that what is embedded of a chunk has at most."""
        if self.options.long_chunks != "refuse":
            return _MOST_CHARS
        assert isinstance(self.embedder, LocalEmbedder)
        return self.embedder.max_tokens + len(self.embedder.prefix_ids())

    @cached_property
    def vocabulary(self) -> int:
        """Count the ids that the model knows."""
        return 0 if self._tokenizer is None else self._tokenizer[1]

    @cached_property
    def _tokenizer(self) -> tuple[str, int] | None:
        """Return the folder of the embedder's own tokenizer and the size of its vocabulary.

        None where only the embedder makes its tokens, or puts a header before chunks.
        """
        embedder = self.embedder
        if type(embedder) is not LocalEmbedder or self.options.chunk_header == "on":
            return None
        try:
            files = find_model(embedder.model)
            size = read_json(files.folder / "config.json").get("vocab_size")
        except ModelError:  # gone, or changed, since it was loaded
            return None
        is_same = files.revision == embedder.space.revision and isinstance(size, int)
        return (str(files.folder), size) if is_same else None

    @cached_property
    def _as_json(self) -> tuple[str, str]:
        recipe = {
            "options": self.options.as_json(),
            "reserve": self.reserve,
            "analyser": self.analyser,
            "max_tokens": self.embedder.max_tokens,
            "model": self.embedder.space.model,
            "prefix": self.embedder.space.passage_prefix,
        }
        folders = (None, self._tokenizer[0] if self._tokenizer else None)
        asked, tokenised = (json.dumps({**recipe, "tokenizer": folder}) for folder in folders)
        return asked, tokenised


@dataclass(frozen=True, slots=True)
class SplitText:
    """What a process makes of a text: its chunks, their terms, and its language.

    `rows` are the ids of what is embedded of each chunk, None where the parent has to make them.
    """

    chunks: tuple[Chunk, ...]
    terms: Terms
    language: str
    rows: Sequence[Row] | None = None


def request(parsed: ParsedText, spans: Sequence[Span] | None) -> Answer:
    """Put a text, and its tokens if there are some, into words that JSON has, and bytes after."""
    fields, parts = told(parsed)
    if spans is None:
        return {"text": fields}, parts
    fields_of_spans, parts_of_spans = told_spans(spans)
    return (
        {"text": fields, "separable": fields_of_spans["separable"]},
        [*parts, *parts_of_spans],
    )


def requested(
    fields: Mapping[str, Any], parts: Sequence[bytes]
) -> tuple[ParsedText, TokenSpans | None]:
    """Read what `request` wrote."""
    parsed = parsed_text(fields["text"], parts[:2])
    return parsed, spans_of(fields, parts[2:]) if parts[2:] else None


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


def told_split(split: SplitText) -> Answer:
    """Make an answer of a text that is split."""
    fields, parts = told_chunks(split.chunks)
    terms = split.terms
    parts += ["\n".join(terms.names).encode(), _packed(terms.numbers), _packed(terms.lengths)]
    if split.rows is not None:
        import numpy as np

        parts += [_packed(np.concatenate(split.rows)), _packed(list(map(len, split.rows)))]
    return {**fields, "language": split.language, "parts": list(map(len, parts))}, parts


def split_text(
    fields: Mapping[str, Any], parts: Sequence[bytes], chars: int, recipe: SplitRecipe
) -> SplitText:
    """Read what `told_split` wrote. Raises ValueError or TypeError where it makes no sense."""
    chunks = chunks_of(parts[:2], chars)
    names, numbers, lengths, *others = parts[2:]
    terms = _terms_of(names, numbers, lengths, len(chunks))
    language = fields["language"]
    if not isinstance(language, str) or len(language) > _MOST_LANGUAGE_CHARS:
        raise ValueError("there is no such language")
    rows = None
    if others:
        ids, counts = others
        rows = _rows_of(ids, counts, len(chunks), recipe)
    return SplitText(chunks, terms, clean(language), rows)


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
    import numpy as np

    written, headings = parts
    paths = [tuple(clean(str(heading)) for heading in path) for path in json.loads(headings)]
    table = np.frombuffer(written, np.int64).reshape(-1, _FIELDS)
    starts, ends, tokens, pages, path = table[:, :5].T
    is_right = (starts >= 0) & (starts < ends) & (ends <= chars) & (tokens > 0) & (path >= 0)
    if not (is_right.all() and (np.diff(ends) > 0).all()):
        raise ValueError("a chunk is out of place")
    leads, parents = (_spans(table[:, first : first + 2], chars) for first in (5, 7))
    columns = (column.tolist() for column in (starts, ends, tokens))
    return tuple(
        map(
            Chunk,
            range(len(table)),
            *columns,
            (None if page == _NONE else page for page in pages.tolist()),
            (paths[number] for number in path.tolist()),
            leads,
            parents,
        )
    )


def _spans(table: NDArray[np.int64], chars: int) -> list[Span | None]:
    starts, ends = table.T
    is_none = (starts == _NONE) & (ends == _NONE)
    if is_none.all():
        return [None] * len(table)
    if not (is_none | ((starts >= 0) & (starts <= ends) & (ends <= chars))).all():
        raise ValueError("a span is out of place")
    return [None if start == _NONE else Span(start, end) for start, end in table.tolist()]


def _terms_of(names: bytes, numbers: bytes, lengths: bytes, chunks: int) -> Terms:
    import numpy as np

    listed = names.decode().split("\n") if names else []
    counts = np.frombuffer(lengths, np.int32).astype(np.int64)
    places = np.frombuffer(numbers, np.int32)
    if len(counts) != chunks or counts.min(initial=0) < 0 or counts.sum() != len(places):
        raise ValueError("terms are not as many as they are said to be")
    if len(places) and not 0 <= places.min() <= places.max() < len(listed):
        raise ValueError("a term is not listed")
    longest = max(map(len, listed), default=0)
    if longest > 4 * MAX_TERM_CHARS or "" in listed or b"\0" in names:
        raise ValueError("a term is too long, or none")
    return Terms(listed, places, counts)


def _rows_of(ids: bytes, counts: bytes, chunks: int, recipe: SplitRecipe) -> list[Row]:
    import numpy as np

    flat, sizes = np.frombuffer(ids, np.int32), np.frombuffer(counts, np.int32)
    if len(sizes) != chunks or sizes.min(initial=0) < 0 or sizes.sum() != len(flat):
        raise ValueError("ids are not as many as they are said to be")
    if sizes.max(initial=0) > recipe.most_ids:
        raise ValueError("more ids than the model reads")
    if len(flat) and not 0 <= flat.min() <= flat.max() < recipe.vocabulary:
        raise ValueError("the model does not know an id")
    return [flat[first:last] for first, last in pairwise([0, *np.cumsum(sizes).tolist()])]


def _packed(numbers: Sequence[int] | NDArray[Any]) -> bytes:
    import numpy as np

    return np.asarray(numbers, np.int32).tobytes()
