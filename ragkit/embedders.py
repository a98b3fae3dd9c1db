"""The embedding model of each collection: the settings' for new ones, for the others their own.

A collection that was embedded with a model is searched and added to with that very model, whatever
the settings name by now. It knows nothing of how vectors are stored or compared.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from ragkit import build
from ragkit.errors import ModelError, NotFoundError, OtherModelError

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Vectors
    from ragkit.settings import Settings
    from ragkit.store.binding import KeptSpace
    from ragkit.store.open import Database
    from ragkit.store.spaces import Spaces
    from ragkit.types import EmbeddingSpace, Span

MAX_KEPT: Final = 3  # arbitrary: loaded at once besides the settings' own; each is 0.1 to 2 GB


class Embedders:
    """Embedding models by the space that they make, each loaded at its first use, few kept."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.default: Embedder = build.embedder(settings)
        self._kept: OrderedDict[EmbeddingSpace, Embedder] = OrderedDict()
        self._known: dict[str, EmbeddingSpace] = {}  # what names stand for
        self._lock = Lock()

    def of(self, kept: KeptSpace | None, collection: str) -> Embedder:
        """Return the model of a collection's space, perhaps not loaded yet; None: the settings'.

        Raises OtherModelError when what it is loaded by is not the same model any more, or when
        the settings ask for other dimensions of it, ModelError when it cannot be found.
        """
        if kept is None:
            return self.default
        self._check_dimension(kept, collection)
        with self._lock:
            known = self._kept.get(kept.space)
        # Found outside of the lock, which all collections wait for; of two finds the first counts.
        found = known or self.made_for(kept, collection)
        with self._lock:
            found = self._kept.setdefault(kept.space, found)
            self._kept.move_to_end(kept.space)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return found

    def to_ingest(self, kept: KeptSpace | None, collection: str) -> Embedder:
        """Return the model that a collection is added to with, as `of` does.

        Raises OtherModelError when the settings name another one on purpose.
        """
        if kept is not None and "embed_model" in self.settings.model_fields_set:
            asked = self._identified(self.settings.embed_model)
            if not _same(asked, kept.space):
                raise OtherModelError(
                    f"collection {collection!r} is embedded with {_named(kept.space, asked)}, and"
                    f" RAGKIT_EMBED_MODEL is {_named(asked, kept.space)}: unset it, or move the"
                    f" collection with `ragkit index reembed --to {self.settings.embed_model}`"
                )
        return self.of(kept, collection)

    def check(self, kept: KeptSpace | None, collection: str) -> None:
        """Raise what `of` raises, without loading a model."""
        if kept is not None:
            self._check_dimension(kept, collection)
            self._name(kept, collection)

    def made(self, model: str, dimension: int | None) -> Embedder:
        """Make the embedder of a name or folder, not yet loaded."""
        changed = {"embed_model": model, "embed_dimension": dimension}
        return build.embedder(self.settings.model_copy(update=changed))

    def made_for(self, kept: KeptSpace, collection: str) -> Embedder:
        """Make the embedder of a space, of what it was loaded by or what goes by its name now.

        Raises OtherModelError when that is another one now, ModelError when it is not found.
        """
        name = self._name(kept, collection)
        if source_of(name) == source_of(self.settings.embed_model) and self._is_default(kept):
            return self.default
        return self.made(name, kept.space.dimension)

    def _name(self, kept: KeptSpace, collection: str) -> str:
        """Find what the model of a space can be loaded by now."""
        own = self.settings.embed_model
        names = [kept.source, own] if kept.source else [own, kept.space.model]
        refused: EmbeddingSpace | None = None
        for name in dict.fromkeys(names):
            try:
                found = self._identified(name)
            except ModelError:
                continue
            if _same(found, kept.space):
                return name
            if found.model == kept.space.model:
                refused = refused or found
        if refused is None:
            raise ModelError(
                f"collection {collection!r} is embedded with {kept.space.model}, which is not found"
                f" as {names[0]}: put it back there, set RAGKIT_EMBED_MODEL to where it is, or move"
                " the collection with `ragkit index reembed --to MODEL`"
            )
        raise OtherModelError(
            f"collection {collection!r} is embedded with {_named(kept.space, refused)}, but that"
            f" model is now {_named(refused, kept.space)}: put the old one back, or move the"
            f" collection with `ragkit index reembed --to {names[0]}`"
        )

    def _is_default(self, kept: KeptSpace) -> bool:
        """Tell whether the settings ask for as many dimensions as the space was made with."""
        if kept.source:
            return self.settings.embed_dimension == kept.first
        self.default.load()  # a space that was stored without a word on what made it
        return self.default.space == kept.space

    def _identified(self, model: str) -> EmbeddingSpace:
        if model not in self._known:
            from ragkit.embed.local import identify

            self._known[model] = identify(model)
        return self._known[model]

    def _check_dimension(self, kept: KeptSpace, collection: str) -> None:
        wanted = self.settings.embed_dimension
        if wanted is None or wanted == kept.space.dimension:
            return
        if self._identified(self.settings.embed_model).model == kept.space.model:
            raise OtherModelError(
                f"collection {collection!r} has {kept.space.dimension} dimensions of"
                f" {kept.space.model}, and RAGKIT_EMBED_DIMENSION is {wanted}: unset it, or move"
                f" the collection with `ragkit index reembed --to {self.settings.embed_model}"
                f" --dimension {wanted}`"
            )


class CollectionEmbedder:
    """The embedding model of one collection, whichever it is at each call.

    What must not change in the middle of something takes `current()` once.
    """

    def __init__(self, embedders: Embedders, spaces: Spaces, collection: str) -> None:
        self._embedders = embedders
        self._spaces = spaces
        self._collection = collection
        self._seen: Embedder | None = None

    def latest(self) -> Embedder:
        """Return the model that `current` last found, which may be another by now.

        For a search, which checks that in its snapshot, and saves the look at the database.
        """
        return self._seen or self.current()

    def current(self) -> Embedder:
        """Return the model of the space that the collection is searched in now."""
        try:
            kept = self._spaces.active(self._collection)
        except NotFoundError:  # which is for a search to say
            kept = None
        self._seen = self._embedders.of(kept, self._collection)
        return self._seen

    def had(self, space: EmbeddingSpace) -> bool:
        """Tell whether the collection has vectors in a space, or had: it may have been moved."""
        return any(kept.space == space for kept in self._spaces.of(self._collection))

    @property
    def space(self) -> EmbeddingSpace:
        return self.current().space

    @property
    def max_tokens(self) -> int:
        return self.current().max_tokens

    def load(self) -> None:
        self.current().load()

    def token_spans(self, text: str) -> Sequence[Span]:
        return self.current().token_spans(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self.current().embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        return self.current().embed_query(text)

    def reads(self, text: str) -> float:
        return self.current().reads(text)


def check_collection(settings: Settings, database: Database) -> None:
    """Raise what a search of the settings' collection would about its model; load nothing."""
    try:
        kept = database.store(settings.tenant).spaces.active(settings.collection)
    except NotFoundError:  # nothing was ingested yet
        return
    Embedders(settings).check(kept, settings.collection)


def current(embedder: Embedder) -> Embedder:
    """Return what a collection's embedder stands for now; any other embedder is itself."""
    return embedder.current() if isinstance(embedder, CollectionEmbedder) else embedder


def latest(embedder: Embedder) -> Embedder:
    """Return what a collection's embedder last stood for; any other embedder is itself."""
    return embedder.latest() if isinstance(embedder, CollectionEmbedder) else embedder


def source_of(model: str) -> str:
    """Return what a model can be loaded by from any folder: its name, or its whole path."""
    folder = Path(model).expanduser()
    return os.path.abspath(folder) if folder.is_dir() else model


def _same(found: EmbeddingSpace, kept: EmbeddingSpace) -> bool:
    """Compare all but the dimension, which takes the model's loading to know."""
    return replace(found, dimension=kept.dimension) == kept


def _named(space: EmbeddingSpace, beside: EmbeddingSpace) -> str:
    """Name a space by its model and by what else differs from the one beside it."""
    if space.model != beside.model:
        return space.model
    parts = {"revision": "revision", "query_prefix": "query prefix", "passage_prefix": "prefix"}
    differing = [
        f"{word} {getattr(space, name)!r}"
        for name, word in parts.items()
        if getattr(space, name) != getattr(beside, name)
    ]
    return f"{space.model} ({', '.join(differing)})"
