"""Move a collection to another embedding model while it is searched with its present one.

The vectors of the second space are built in short transactions, none of them open while the model
works. The gaps are always computed from the stored vectors: a build can be interrupted and
continued at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.embed.headers import Headers
from ragkit.embed.passages import embed_texts
from ragkit.errors import BusyError, NotFoundError
from ragkit.knowledge.embedders import source_of
from ragkit.settings.ingest_options import IngestOptions, options_of

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.embed.windows import Pooling
    from ragkit.knowledge.embedders import Embedders
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors.active_space import KeptSpace
    from ragkit.store.vectors.missing import Gaps, Passage

# Of one transaction: seconds of a CPU's work, which is what kill -9 costs. Arbitrary.
BATCH_PASSAGES: Final = 128
BATCH_TOKENS: Final = 16_384
DEFAULTS: Final = IngestOptions()
ROUNDS: Final = 20  # of catching up with documents that come in at the moment of the switch


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is: passages with a vector, of how many; what this run did, in seconds."""

    done: int
    total: int
    embedded: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Built:
    """A space in which every passage has its vector.

    `long` of the `embedded` passages had more tokens than the model reads: the vector of such a
    one is pooled over windows (`ragkit.embed.windows`).
    """

    space: KeptSpace
    embedded: int
    long: int
    seconds: float


def build(
    store: PostgresStore,
    collection: str,
    embedder: Embedder,
    *,
    source: str,
    first: int | None,
    options: IngestOptions = DEFAULTS,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Built:
    """Give every passage of a collection a vector of a model, and index them.

    What is embedded of a passage is what ingestion embeds with the collection's `options`; one
    that is too long for the model is never refused. Raises NotFoundError for an unknown
    collection, BusyError when another process is at it.
    """
    started = perf_counter()
    embedder.load()
    with store.spaces.alone(collection):
        stored = store.spaces.open(collection, embedder.space, source=source, first=first)
        gaps = store.spaces.gaps(collection, stored.id)
        filling = _Filling(gaps, embedder, options, on_progress)
        filling.run()
        if filling.embedded or stored.state == "building":
            store.finish_load(collection, stored.space)
        store.spaces.complete(collection, stored.id)
    complete = _stored_space(store, collection, stored.id)
    return Built(complete, filling.embedded, filling.long, perf_counter() - started)


def switch(
    store: PostgresStore,
    collection: str,
    target: KeptSpace,
    embedder: Embedder,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    *,
    options: IngestOptions = DEFAULTS,
) -> None:
    """Search a collection in another space from now on, every passage having its vector there.

    Documents that came in since it was built are caught up with first. Raises BusyError when they
    come in faster than that.
    """
    with store.spaces.alone(collection):
        gaps = store.spaces.gaps(collection, target.id)
        for _ in range(ROUNDS):
            missing = store.spaces.switch(collection, target.id)
            if not missing:
                return
            embedder.load()
            _Filling(gaps, embedder, options, on_progress).run()
    raise BusyError(
        f"documents come into collection {collection!r} faster than they are embedded, {missing}"
        " passages wait: pause ingestion, and run the command again"
    )


def roll_back(
    store: PostgresStore,
    collection: str,
    embedders: Embedders,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> KeptSpace:
    """Search a collection in the space before the last switch again.

    Documents that came in since then are embedded with its model first. Raises NotFoundError when
    it was dropped or there never was one, and what finding its model raises.
    """
    previous = next((k for k in store.spaces.of(collection) if k.state == "previous"), None)
    if previous is None:
        raise NotFoundError(
            f"collection {collection!r} has no earlier model's vectors to go back to: build them"
            " with `ragkit index reembed --to MODEL`"
        )
    embedder = embedders.made_for(previous, collection)
    options = options_of(embedders.settings, store.ingest_options(collection))
    switch(store, collection, previous, embedder, on_progress, options=options)
    return previous


def drop(store: PostgresStore, collection: str, space: KeptSpace) -> tuple[int, bool]:
    """Delete a collection's vectors in a space that it is not searched in.

    Return how many, and whether the space's table went with them, as no collection uses it.
    """
    with store.spaces.alone(collection):
        gone = store.spaces.drop(collection, space.id)
    return gone, store.spaces.drop_unused(space.id)


def named(
    store: PostgresStore, collection: str, model: str, dimension: int | None
) -> Sequence[KeptSpace]:
    """List a collection's spaces of a model, by its name, as shown or not, or its source."""
    source = source_of(model)
    return [
        space
        for space in store.spaces.of(collection)
        if space.state != "dropped"
        and (space.source == source or model in {space.space.model, *_shown(space)})
        and dimension in (None, space.space.dimension)
    ]


def _shown(space: KeptSpace) -> tuple[str, str]:
    """Return the name that people see, with and without its hash."""
    return space.name, space.name.rpartition(" (")[0]


class _Filling:
    """Fill the gaps of a space until there are none."""

    def __init__(
        self,
        gaps: Gaps,
        embedder: Embedder,
        options: IngestOptions,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self.embedded = self.long = 0
        self._gaps = gaps
        self._embedder = embedder
        self._long: Pooling = "mean" if options.long_chunks == "refuse" else options.long_chunks
        self._headers = Headers(embedder) if options.chunk_header == "on" else None
        self._on_progress = on_progress
        self._started = perf_counter()

    def run(self) -> None:
        total, missing = self._gaps.passages(), self._gaps.missing()
        while missing:
            self._report(total - missing, total)
            for batch in self._batches():
                vectors, long = embed_texts(self._embedder, self._texts(batch), self._long)
                added = self._gaps.add([passage.chunk for passage in batch], vectors)
                self.embedded += added
                self.long += long
                missing -= added
                self._report(total - max(missing, 0), total)
            # Documents that came in meanwhile, some perhaps with lower ids than the last seen.
            total, missing = self._gaps.passages(), self._gaps.missing()
        self._report(total, total)

    def _batches(self) -> Iterator[Sequence[Passage]]:
        """Read once through what is missing, a token budget at a time."""
        last_chunk = 0
        while passages := self._gaps.batch(after=last_chunk, limit=BATCH_PASSAGES):
            tokens = number = 0
            while number < len(passages) and tokens < BATCH_TOKENS:
                tokens += passages[number].tokens
                number += 1
            last_chunk = passages[number - 1].chunk
            yield passages[:number]

    def _texts(self, passages: Sequence[Passage]) -> list[str]:
        """Return what is embedded of passages, as ingestion does: each after its header."""
        headers = self._headers
        if headers is None:
            return [passage.text for passage in passages]
        return [headers.of(passage.title, passage.headings) + passage.text for passage in passages]

    def _report(self, done: int, total: int) -> None:
        seconds = perf_counter() - self._started
        self._on_progress(Progress(done, total, self.embedded, seconds))


def _stored_space(store: PostgresStore, collection: str, space_id: int) -> KeptSpace:
    return next(space for space in store.spaces.of(collection) if space.id == space_id)
