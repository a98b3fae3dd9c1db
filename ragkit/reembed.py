"""Move a collection to another embedding model while it is searched with the one it has.

Vectors are built beside the old ones, in short transactions and none during the model's work, and
what is missing is always computed from what is there: it can be broken off and gone on with at any
time. It knows nothing of the command line, nor of how two spaces compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.embedders import source_of
from ragkit.errors import BusyError, NotFoundError

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Vectors
    from ragkit.embedders import Embedders
    from ragkit.store.binding import KeptSpace
    from ragkit.store.gaps import Gaps, Passage
    from ragkit.store.postgres import PostgresStore

# Of one transaction: seconds of a CPU's work, which is what kill -9 costs. Arbitrary.
BATCH_PASSAGES: Final = 128
BATCH_TOKENS: Final = 16_384
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
    one is the mean of its parts'.
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
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Built:
    """Give every passage of a collection a vector of a model, and index them.

    Raises NotFoundError for an unknown collection, BusyError when another process is at it.
    """
    started = perf_counter()
    embedder.load()
    with store.spaces.alone(collection):
        kept = store.spaces.open(collection, embedder.space, source=source, first=first)
        filling = _Filling(store.spaces.gaps(collection, kept.id), embedder, on_progress)
        filling.run()
        if filling.embedded or kept.state == "building":
            store.finish_load(collection, kept.space)
        store.spaces.complete(collection, kept.id)
    now = _kept(store, collection, kept.id)
    return Built(now, filling.embedded, filling.long, perf_counter() - started)


def switch(
    store: PostgresStore,
    collection: str,
    kept: KeptSpace,
    embedder: Embedder,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Search a collection in another space from now on, every passage having its vector there.

    Documents that came in since it was built are caught up with first. Raises BusyError when they
    come in faster than that.
    """
    with store.spaces.alone(collection):
        gaps = store.spaces.gaps(collection, kept.id)
        for _ in range(ROUNDS):
            missing = store.spaces.switch(collection, kept.id)
            if not missing:
                return
            embedder.load()
            _Filling(gaps, embedder, on_progress).run()
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
            " with `ragkit reembed --to MODEL`"
        )
    switch(store, collection, previous, embedders.made_for(previous, collection), on_progress)
    return previous


def drop(store: PostgresStore, collection: str, kept: KeptSpace) -> tuple[int, bool]:
    """Delete a collection's vectors in a space that it is not searched in.

    Return how many, and whether the space's table went with them, as no collection uses it.
    """
    with store.spaces.alone(collection):
        gone = store.spaces.drop(collection, kept.id)
    return gone, store.spaces.drop_unused(kept.id)


def named(
    store: PostgresStore, collection: str, model: str, dimension: int | None
) -> Sequence[KeptSpace]:
    """List a collection's spaces of a model, by its name or what it is loaded by."""
    source = source_of(model)
    return [
        kept
        for kept in store.spaces.of(collection)
        if kept.state != "dropped"
        and (kept.space.model == model or kept.source == source)
        and dimension in (None, kept.space.dimension)
    ]


class _Filling:
    """Fills the gaps of a space until there are none."""

    def __init__(
        self, gaps: Gaps, embedder: Embedder, on_progress: Callable[[Progress], None]
    ) -> None:
        self.embedded = self.long = 0
        self._gaps = gaps
        self._embedder = embedder
        self._on_progress = on_progress
        self._started = perf_counter()

    def run(self) -> None:
        total, missing = self._gaps.passages(), self._gaps.missing()
        while missing:
            self._report(total - missing, total)
            for batch in self._batches():
                vectors, long = embed(self._embedder, [passage.text for passage in batch])
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
        after = 0
        while found := self._gaps.batch(after=after, limit=BATCH_PASSAGES):
            tokens = taken = 0
            while taken < len(found) and tokens < BATCH_TOKENS:
                tokens += found[taken].tokens
                taken += 1
            after = found[taken - 1].chunk
            yield found[:taken]

    def _report(self, done: int, total: int) -> None:
        seconds = perf_counter() - self._started
        self._on_progress(Progress(done, total, self.embedded, seconds))


def embed(embedder: Embedder, texts: Sequence[str]) -> tuple[Vectors, int]:
    """Embed passages of any length, shape (len(texts), dimension); count those that were too long.

    Of these the vector is the mean of their parts', of length 1 again: nothing is cut off.
    """
    import numpy as np

    parts = [_parts(embedder, text) for text in texts]
    rows = embedder.embed_passages([part for of_text in parts for part in of_text])
    vectors = np.empty((len(texts), rows.shape[1]), np.float32)
    first = 0
    for n, of_text in enumerate(parts):
        mean = rows[first : first + len(of_text)].mean(axis=0)
        length = float(np.linalg.norm(mean))
        # Parts that point away from each other have no mean: the first speaks for them.
        vectors[n] = mean / length if length > 1e-6 else rows[first]
        first += len(of_text)
    return vectors, sum(len(of_text) > 1 for of_text in parts)


def _parts(embedder: Embedder, text: str) -> list[str]:
    """Halve a text, between tokens, until each part fits the model."""
    spans = embedder.token_spans(text)
    if len(spans) <= embedder.max_tokens:
        return [text]
    middle = spans[len(spans) // 2].start
    middle = middle if 0 < middle < len(text) else len(text) // 2
    return _parts(embedder, text[:middle]) + _parts(embedder, text[middle:])


def _kept(store: PostgresStore, collection: str, space_id: int) -> KeptSpace:
    return next(kept for kept in store.spaces.of(collection) if kept.id == space_id)
