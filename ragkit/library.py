"""Knowledge bases and conversations for many callers over one database and one set of models.

What a caller may not read is, for him, not there. It knows nothing of how a caller was recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ragkit.errors import NotFoundError
from ragkit.knowledge import KnowledgeBase

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, LanguageModel
    from ragkit.conversation.dialogue import Conversation
    from ragkit.settings import Settings
    from ragkit.store.conversations import Conversations
    from ragkit.store.open import Database
    from ragkit.store.postgres import PostgresStore
    from ragkit.types import Collection

MAX_KEPT: Final = 64  # arbitrary; composed knowledge bases are small


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: whose documents, what he may do, and with which collections; None means all.

    `key` is the number of the key he came with, if any.
    """

    tenant: str
    principal: str
    collections: tuple[str, ...] | None = None
    scopes: tuple[str, ...] = ("read",)
    key: int | None = None

    def may_see(self, collection: str) -> bool:
        """Tell whether a collection of this name is there for him."""
        return self.collections is None or collection in self.collections


class Library:
    """Knowledge bases for many callers over one database and one embedding model."""

    def __init__(self, settings: Settings, database: Database) -> None:
        from ragkit import build

        self.settings = settings
        self.database = database
        self.embedder: Embedder = build.embedder(settings)
        # Kept, so that what a model server's health is known to be is not forgotten at each call.
        self._kept = lru_cache(MAX_KEPT)(self._compose)

    @cached_property
    def model(self) -> LanguageModel | None:
        """The language model that follow-ups are rewritten with; None without one."""
        from ragkit import build

        return build.language_model(self.settings)

    def name(self, caller: Caller, collection: str | None) -> str:
        """Say which collection a caller means; None: his only one, or the settings'.

        Raises NotFoundError for one that is not there for him; whether it exists is not asked.
        """
        only = caller.collections or ()
        name = collection or (only[0] if len(only) == 1 else self.settings.collection)
        if not caller.may_see(name):
            raise NotFoundError(f"there is no collection {name!r}")
        return name

    def open(self, caller: Caller, collection: str | None = None) -> KnowledgeBase:
        """Compose the knowledge base of a caller's collection. Raises NotFoundError."""
        return self._kept(caller.tenant, self.name(caller, collection))

    def store(self, caller: Caller) -> PostgresStore:
        """Return the documents of a caller's tenant; his collections are for the asker to check."""
        return self.database.store(caller.tenant)

    def collections(self, caller: Caller) -> Sequence[Collection]:
        """List the collections that are there for a caller."""
        return [one for one in self.store(caller).collections() if caller.may_see(one.name)]

    def conversations(self, caller: Caller) -> Conversations:
        """Return a caller's conversations."""
        from ragkit.store.conversations import Conversations

        return Conversations(self.database.pool, caller.tenant, caller.principal)

    def conversation(
        self, caller: Caller, *, collection: str | None = None, id: UUID | None = None
    ) -> Conversation:
        """Begin a conversation, or go on with the one of this id, whose collection then counts.

        Raises NotFoundError.
        """
        from ragkit.answer.templates import Templates
        from ragkit.conversation.dialogue import Conversation

        conversations = self.conversations(caller)
        name = conversations.get(id).collection if id is not None else collection
        kb = self.open(caller, name)
        return Conversation(
            kb,
            conversations,
            model=self.model,
            templates=Templates(self.settings.prompts, kb.collection),
            history_tokens=self.settings.history_tokens,
            id=id,
        )

    def _compose(self, tenant: str, collection: str) -> KnowledgeBase:
        return KnowledgeBase.over(
            self.database,
            self.settings,
            tenant=tenant,
            collection=collection,
            embedder=self.embedder,
        )
