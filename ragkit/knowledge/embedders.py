"""The embedding model of each collection: its own, or the settings' for a new collection.

A collection is searched and extended with the model that it was embedded with, whatever the
settings name.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from ragkit.embed.find import SERVED
from ragkit.errors import ModelError, NotFoundError, OtherModelError
from ragkit.knowledge import build

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Vectors
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database
    from ragkit.store.vectors.active_space import KeptSpace
    from ragkit.store.vectors.collection_spaces import Spaces
    from ragkit.types import EmbeddingSpace, Span

MAX_KEPT: Final = 3  # arbitrary: loaded at once besides the settings' own; each is 0.1 to 2 GB


class Embedders:
    """Embedding models by their space, each loaded at its first use; a few stay loaded."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.default: Embedder = build.embedder(settings)
        self._kept: OrderedDict[EmbeddingSpace, Embedder] = OrderedDict()
        self._known: dict[str, EmbeddingSpace] = {}  # what names stand for
        self._lock = Lock()

    def of(self, stored: KeptSpace | None, collection: str) -> Embedder:
        """Return the model of a collection's space, perhaps not loaded yet; None: the settings'.

        Raises OtherModelError when what it is loaded by is not the same model any more, or when
        the settings ask for other dimensions of it, ModelError when it cannot be found.
        """
        if stored is None:
            return self.default
        self._check_dimension(stored, collection)
        with self._lock:
            loaded = self._kept.get(stored.space)
        # Found outside of the lock, which all collections wait for; of two finds the first counts.
        embedder = loaded or self.made_for(stored, collection)
        with self._lock:
            embedder = self._kept.setdefault(stored.space, embedder)
            self._kept.move_to_end(stored.space)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return embedder

    def to_ingest(self, stored: KeptSpace | None, collection: str) -> Embedder:
        """Return the model that a collection is added to with, as `of` does.

        Raises OtherModelError when the settings name another one on purpose.
        """
        if stored is not None and "embed_model" in self.settings.model_fields_set:
            requested = self._identified(embed_model(self.settings))
            if not _is_same_model(requested, stored.space):
                raise OtherModelError(
                    f"collection {collection!r} is embedded with {_named(stored.space, requested)},"
                    f" and RAGKIT_EMBED_MODEL is {_named(requested, stored.space)}: unset it, or"
                    " move the collection with `ragkit index reembed --to"
                    f" {embed_model(self.settings)}`"
                )
        elif stored is not None and self._is_any_served and not stored.source.startswith(SERVED):
            raise OtherModelError(
                f"collection {collection!r} is embedded with {stored.space.model} on this machine,"
                " and RAGKIT_EMBED_URL is set: unset it, or move the collection with"
                f" `ragkit index reembed --to {SERVED}MODEL`"
            )
        return self.of(stored, collection)

    def check(self, stored: KeptSpace | None, collection: str) -> None:
        """Raise what `of` raises, without loading a model."""
        if stored is not None:
            self._check_dimension(stored, collection)
            self._name(stored, collection)

    def made(self, model: str, dimension: int | None) -> Embedder:
        """Make the embedder of a name or folder, or of `served:NAME`, not yet loaded.

        Raises ModelError for a server's where the settings name no server.
        """
        changed: dict[str, object] = {"embed_model": model, "embed_dimension": dimension}
        if not model.startswith(SERVED):
            changed["embed_url"] = None
        elif self.settings.embed_url is None:
            self._identified(model)
        return build.embedder(self.settings.model_copy(update=changed))

    def made_for(self, stored: KeptSpace, collection: str) -> Embedder:
        """Make the embedder of a space, of what it was loaded by or what goes by its name now.

        Raises OtherModelError when that is another one now, ModelError when it is not found.
        """
        name = self._name(stored, collection)
        is_named = not self._is_any_served and source_of(name) == source_of(
            embed_model(self.settings)
        )
        if is_named and self._is_default(stored):
            return self.default
        # All of a server's dimensions, where not fewer were asked for: others are another model's.
        is_served = stored.source.startswith(SERVED)
        return self.made(name, stored.first if is_served else stored.space.dimension)

    def _name(self, stored: KeptSpace, collection: str) -> str:
        """Find what the model of a space can be loaded by now."""
        if stored.source.startswith(SERVED) and self.settings.embed_url is None:
            raise ModelError(
                f"collection {collection!r} is embedded with {stored.space.model} of a server: set"
                " RAGKIT_EMBED_URL to its address, or move the collection with"
                " `ragkit index reembed --to MODEL`"
            )
        default = "" if self._is_any_served else embed_model(self.settings)
        names = [stored.source, default] if stored.source else [default, stored.space.model]
        names = [name for name in names if name]
        refused: EmbeddingSpace | None = None
        for name in dict.fromkeys(names):
            try:
                space = self._identified(name)
            except ModelError:
                continue
            if _is_same_model(space, stored.space):
                return name
            if space.model == stored.space.model:
                refused = refused or space
        if refused is None:
            raise ModelError(
                f"collection {collection!r} is embedded with {stored.space.model}, which is not"
                f" found as {names[0]}: put it back there, set RAGKIT_EMBED_MODEL to where it is,"
                " or move the collection with `ragkit index reembed --to MODEL`"
            )
        raise OtherModelError(
            f"collection {collection!r} is embedded with {_named(stored.space, refused)}, but that"
            f" model is now {_named(refused, stored.space)}: put the old one back, or move the"
            f" collection with `ragkit index reembed --to {names[0]}`"
        )

    def _is_default(self, stored: KeptSpace) -> bool:
        """Tell whether the settings ask for as many dimensions as the space was made with."""
        if stored.source:
            return self.settings.embed_dimension == stored.first
        self.default.load()  # a space that was stored without a word on what made it
        return self.default.space == stored.space

    @property
    def _is_any_served(self) -> bool:
        """Tell whether the settings take whichever model a server has."""
        return self.settings.embed_url is not None and (
            "embed_model" not in self.settings.model_fields_set
        )

    def _identified(self, model: str) -> EmbeddingSpace:
        if model not in self._known:
            self._known[model] = identify(self.settings, model)
        return self._known[model]

    def _check_dimension(self, stored: KeptSpace, collection: str) -> None:
        dimension = self.settings.embed_dimension
        if dimension is None or dimension == stored.space.dimension:
            return
        if self._identified(embed_model(self.settings)).model == stored.space.model:
            raise OtherModelError(
                f"collection {collection!r} has {stored.space.dimension} dimensions of"
                f" {stored.space.model}, and RAGKIT_EMBED_DIMENSION is {dimension}: unset it, or"
                f" move the collection with `ragkit index reembed --to {embed_model(self.settings)}"
                f" --dimension {dimension}`"
            )


class CollectionEmbedder:
    """The embedding model of one collection, current at each call.

    Work that must not change its model midway takes `current()` once.
    """

    def __init__(self, embedders: Embedders, spaces: Spaces, collection: str) -> None:
        self._embedders = embedders
        self._spaces = spaces
        self._collection = collection
        self._seen: Embedder | None = None

    def latest(self) -> Embedder:
        """Return the model that `current` last returned, which may be outdated.

        A search uses it, checks it in its snapshot, and saves a query to the database.
        """
        return self._seen or self.current()

    def current(self) -> Embedder:
        """Return the model of the space that the collection is searched in now."""
        try:
            stored = self._spaces.active(self._collection)
        except NotFoundError:  # which is for a search to say
            stored = None
        self._seen = self._embedders.of(stored, self._collection)
        return self._seen

    def had(self, space: EmbeddingSpace) -> bool:
        """Tell whether the collection has vectors in a space, or had: it may have been moved."""
        return any(stored.space == space for stored in self._spaces.of(self._collection))

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
        stored = database.store(settings.tenant).spaces.active(settings.collection)
    except NotFoundError:  # nothing was ingested yet
        return
    Embedders(settings).check(stored, settings.collection)


def embed_model(settings: Settings) -> str:
    """Return what the settings' model is loaded by: a name or folder, `served:NAME` of a server.

    A server is asked where only its address is set: raises ModelServerError.
    """
    if settings.embed_url is None:
        return settings.embed_model
    if "embed_model" in settings.model_fields_set:
        return SERVED + settings.embed_model.removeprefix(SERVED)
    from ragkit.knowledge.open_embedder import first_served

    return first_served(settings)


def identify(settings: Settings, model: str) -> EmbeddingSpace:
    """Tell a model's space without loading the model; its dimension is 0: not known yet.

    Raises ModelError when the model cannot be found.
    """
    if model.startswith(SERVED):
        from ragkit.knowledge.open_embedder import identify_served

        return identify_served(settings, model)
    from ragkit.embed.local import identify as identify_local

    return identify_local(model)


def source_of(model: str) -> str:
    """Return what a model can be loaded by from any folder: its name, or its whole path."""
    folder = Path(model).expanduser()
    return os.path.abspath(folder) if folder.is_dir() else model


def _is_same_model(space: EmbeddingSpace, stored: EmbeddingSpace) -> bool:
    """Compare all but the dimension, which takes the model's loading to know."""
    return replace(space, dimension=stored.dimension) == stored


def _named(space: EmbeddingSpace, compared: EmbeddingSpace) -> str:
    """Name a space by its model and by what else differs from the one beside it."""
    if space.model != compared.model:
        return space.model
    parts = {"revision": "revision", "query_prefix": "query prefix", "passage_prefix": "prefix"}
    differing = [
        f"{word} {getattr(space, name)!r}"
        for name, word in parts.items()
        if getattr(space, name) != getattr(compared, name)
    ]
    return f"{space.model} ({', '.join(differing)})"
