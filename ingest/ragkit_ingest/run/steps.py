"""From a thing that was read to a document that can be embedded: hash, split, describe.

It knows nothing of jobs, processes or the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, cast

from ragkit.documents.content_hash import content_hash
from ragkit.errors import IngestError
from ragkit.text.analyse import ANALYSER
from ragkit.text.analysers import ChunkTerms
from ragkit.types import NewDocument, ParsedText
from ragkit_ingest.clean.boilerplate import without_boilerplate
from ragkit_ingest.clean.description import Description, mask_description
from ragkit_ingest.parse import MEDIA_TYPES
from ragkit_ingest.parse.options import ParseOptions, parse_options
from ragkit_ingest.parser.split_wire import SplitRecipe
from ragkit_ingest.run.boilerplate_scan import folder_of
from ragkit_ingest.run.embedding import Embedding
from ragkit_ingest.run.titles import only_heading
from ragkit_ingest.sources.item import Item
from ragkit_ingest.split import splitter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ragkit.contracts import Embedder, Vectors
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.settings.settings import Settings
    from ragkit.types import Span
    from ragkit_ingest.parser.pool import ParserPool
    from ragkit_ingest.parser.split_wire import SplitText
    from ragkit_ingest.run.boilerplate_scan import Lines
    from ragkit_ingest.run.embedding import Rows


@dataclass(frozen=True, slots=True)
class Source:
    """A thing as it was read: its bytes, or the error that kept it from being read.

    `content_hash` is the sha256 of its bytes and of what the user says of it, `seconds` what
    reading took. `size_bytes` stays when the bytes themselves have been handed on.
    """

    item: Item
    data: bytes = b""
    error: IngestError | None = None
    content_hash: str = ""
    seconds: float = 0.0
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document, what is embedded of each of its chunks, and what its text lacks, by kind.

    `terms` are those of its chunks, with the analyser's name.
    """

    document: NewDocument
    rows: Rows
    notes: Mapping[str, int]
    terms: ChunkTerms | None = None


@dataclass(frozen=True, slots=True)
class Splitting:
    """A parsed thing that is being split; `spans` are its tokens, where the embedder made them."""

    source: Source
    parsed: ParsedText
    spans: Sequence[Span] | None
    future: Future[SplitText]


def read(item: Item, *, max_bytes: int) -> Source:
    """Read a thing of at most `max_bytes`."""
    began = perf_counter()
    try:
        data = item.read(max_bytes)
    except IngestError as error:
        return Source(item, error=error, seconds=perf_counter() - began)
    return Source(
        item,
        data,
        content_hash=content_hash(data, item.title, item.metadata),
        seconds=perf_counter() - began,
        size_bytes=len(data),
    )


class Steps:
    """What makes a document of a parsed file: options, model, fingerprint.

    `analyser` names what makes terms of the documents. `earlier` are fingerprints whose documents
    need not be made anew; `is_new` says that what the collection's model is loaded by is not noted
    with it yet.
    """

    def __init__(
        self,
        embedder: Embedder,
        fingerprint: str,
        settings: Settings,
        options: IngestOptions,
        *,
        analyser: str = ANALYSER,
        earlier: frozenset[str] = frozenset(),
        is_new: bool = False,
    ) -> None:
        self.embedder = embedder
        self.analyser = analyser
        self.fingerprint = fingerprint
        self.fingerprints = earlier | {fingerprint}
        self.options = options
        self.lines: Lines = {}  # that repeat across a folder's files, and are to be left out
        self._embedding = Embedding(embedder, options)
        self.is_new = is_new
        self.max_file_bytes = settings.max_file_mb << 20
        self._unzipped_bytes = settings.parse_unzipped_mb << 20

    @property
    def parse_options(self) -> ParseOptions:
        """Options for the parser."""
        return parse_options(self.options, unzipped_bytes=self._unzipped_bytes)

    def is_known(self, source: Source, stored: Mapping[str, tuple[str, str]]) -> bool:
        """Return whether the store has what would be made of a source; see `is_current`."""
        return not source.error and self.is_current(source.item.uri, source.content_hash, stored)

    def is_current(
        self, uri: str, content_hash: str, stored: Mapping[str, tuple[str, str]]
    ) -> bool:
        """Return whether a stored document was made of this content by these steps.

        `stored` maps URIs to content hash and fingerprint. `upload_place.put_source` has the same
        rule in SQL, for an upload whose document may have been replaced meanwhile.
        """
        stored_hash, fingerprint = stored.get(uri, ("", ""))
        return stored_hash == content_hash and fingerprint in self.fingerprints

    def get_ready(self) -> None:
        """Load what splitting needs: the embedder, whose tokens are counted. At once, if it is.

        Raises SettingsError for sizes that make no sense.
        """
        assert self._recipe is not None

    def split(self, source: Source, parsed: ParsedText, parsers: ParserPool) -> Splitting:
        """Begin to split a parsed thing in a limited process, for `prepared`.

        The first call loads the embedder, whose tokens are counted.
        """
        recipe = self._recipe
        lines = self.lines.get(folder_of(source.item.uri))
        if lines:
            parsed = without_boilerplate(parsed, lines)
        is_left = recipe.does_tokenise(parsed.text)
        spans = None if is_left else self.embedder.token_spans(parsed.text)
        return Splitting(source, parsed, spans, parsers.split(parsed, spans, recipe))

    def prepared(
        self,
        splitting: Splitting,
        wait: Callable[[Future[SplitText]], SplitText] = Future.result,
    ) -> Prepared:
        """Describe a thing that is being split; `wait` waits for that."""
        split = wait(splitting.future)
        if not split.chunks:
            raise IngestError("chunk", "there is no text in it")
        source, parsed = splitting.source, splitting.parsed
        item = source.item
        title = item.title or parsed.title or only_heading(parsed, item.suffix) or item.name
        about = Description(title, {**parsed.metadata, **item.metadata}, parsed.notes)
        description = mask_description(about, item.uri, self.options)
        document = NewDocument(
            uri=item.uri,
            content_hash=source.content_hash,
            fingerprint=self.fingerprint,
            text=parsed.text,
            chunks=split.chunks,
            title=description.title,
            language=split.language,
            media_type=MEDIA_TYPES[item.suffix],
            metadata=description.metadata,
            pages=parsed.pages,
            size_bytes=source.size_bytes,
        )
        rows: Rows | None = split.rows
        if rows is None:
            rows = self._embedding.rows(document, splitting.spans)
        terms = ChunkTerms(self.analyser, split.terms)
        return Prepared(document, rows, description.notes, terms)

    def embed(self, rows: Rows) -> Vectors:
        """Embed some rows, of any documents: shape (rows, dimension)."""
        return self._embedding.embed(rows)

    @cached_property
    def _recipe(self) -> SplitRecipe:
        """What the collection's texts are split with, checked by making the splitter once."""
        self.embedder.load()
        reserve = self._embedding.reserve
        splitter(self.options, self.embedder, reserve=reserve)
        return SplitRecipe(self.options, self.embedder, reserve, self.analyser)


def rows_of(documents: Iterable[Prepared]) -> Rows:
    """Return what is embedded of several documents, in order."""
    return cast("Rows", [row for document in documents for row in document.rows])
