"""Knowledge bases and conversations for many callers over one database and one set of models.

A document or collection that a caller may not read does not exist for that caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ragkit.errors import NotFoundError
from ragkit.knowledge.base import KnowledgeBase
from ragkit.store.documents.filter_sql import Readers
from ragkit.store.documents.sharing import principals

if TYPE_CHECKING:
    from ragkit.answer.check.verify import Entails
    from ragkit.contracts import Embedder, LanguageModel, Reranker
    from ragkit.conversation.dialogue import Conversation
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database
    from ragkit.store.people.conversations import Conversations
    from ragkit.store.postgres import PostgresStore
    from ragkit.types import Collection

MAX_KEPT: Final = 256  # arbitrary; composed knowledge bases are small
MODELS_AGE_S: Final = 2.0  # arbitrary: of the list that a question's choice is checked against
MAX_MODELS: Final = 32  # arbitrary: chosen by questions; each keeps its connections


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller: tenant, principal, scopes, and the accessible collections; None means all.

    `key` is the number of the access key, if any. A caller reads what is shared with everybody,
    with the principal and with the groups; an operator, who runs the database, reads everything.
    """

    tenant: str
    principal: str
    collections: tuple[str, ...] | None = None
    scopes: tuple[str, ...] = ("read",)
    key: int | None = None
    groups: tuple[str, ...] = ()
    operator: bool = False

    @property
    def readers(self) -> Readers:
        """The principals by which a caller reads; None for an operator."""
        return None if self.operator else principals(self.principal, self.groups)

    def may_see(self, collection: str) -> bool:
        """Tell whether a collection of this name is accessible to the caller."""
        return self.collections is None or collection in self.collections


class Library:
    """Knowledge bases for many callers over one database and one set of models.

    `embedder` is the settings' own; a collection is searched with the one it was embedded with.
    """

    def __init__(self, settings: Settings, database: Database) -> None:
        from ragkit.knowledge.embedders import Embedders

        self.settings = settings
        self.database = database
        self.embedders = Embedders(settings)
        self.embedder: Embedder = self.embedders.default
        self._kept = lru_cache(MAX_KEPT)(self._compose)
        self._named = lru_cache(MAX_MODELS)(self._open_model)

    @cached_property
    def model(self) -> LanguageModel | None:
        """The language model that all collections share; None without one."""
        from ragkit.knowledge import build

        return build.language_model(self.settings)

    @cached_property
    def entails(self) -> Entails | None:
        """The inference model that claims are checked with in all collections; None without one."""
        from ragkit.knowledge import build

        return build.entailment(self.settings)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker that all collections share; None without one, or where each has its own."""
        from ragkit.knowledge import build

        per_collection = self.settings.reranker == "cosine"  # of the collection's embedding model
        return None if per_collection else build.reranker(self.settings, self.embedder)

    def load(self) -> None:
        """Load the models in this process, so that the first question need not wait.

        Raises ModelError.
        """
        from ragkit.answer.check.entailment import load_entailment
        from ragkit.embed.local import LocalEmbedder
        from ragkit.model.served import ServedModel
        from ragkit.prompts.messages import build_prompt

        self.embedder.load()
        if isinstance(self.embedder, LocalEmbedder):
            self.embedder.load_program()
        if self.reranker is not None:
            self.reranker.load()
        load_entailment(self.entails)
        if isinstance(self.model, ServedModel):
            self.model.load()
            build_prompt("", (), budget_tokens=0)  # loads what fills in templates

    def name(self, caller: Caller, collection: str | None) -> str:
        """Say which collection a caller means; None: his only one, or the settings'.

        Raises NotFoundError for one that is not there for him; whether it exists is not asked.
        """
        only = caller.collections or ()
        name = collection or (only[0] if len(only) == 1 else self.settings.collection)
        if not caller.may_see(name):
            raise NotFoundError(f"there is no collection {name!r}")
        return name

    def open(
        self, caller: Caller, collection: str | None = None, *, model: str | None = None
    ) -> KnowledgeBase:
        """Compose the knowledge base of a caller's collection, answered by one of `models`.

        Raises NotFoundError; a model's name is the asker's to check.
        """
        return self._kept(caller.tenant, self.name(caller, collection), caller.readers, model)

    def models(self, *, max_age_s: float = 0.0) -> Sequence[str]:
        """List the language models that a question may choose from: those that the server offers.

        Empty where the settings name the model, or no server. Raises what `offered` does.
        """
        from ragkit.model.choice import offered
        from ragkit.model.open import is_served, servers_of

        if self.settings.llm_model is not None or not is_served(self.settings):
            return ()
        return offered(servers_of(self.settings), max_age_s=max_age_s)

    def has_model(self, name: str) -> bool:
        """Tell whether a question may choose this language model. Raises what `models` does."""
        return name in self.models(max_age_s=MODELS_AGE_S)

    def store(self, caller: Caller) -> PostgresStore:
        """Return the documents that a caller may read; his collections are the asker's to check."""
        return self.database.store(caller.tenant, readers=caller.readers)

    def collections(self, caller: Caller) -> Sequence[Collection]:
        """List the collections that are there for a caller."""
        return [
            collection
            for collection in self.store(caller).collections()
            if caller.may_see(collection.name)
        ]

    def conversations(self, caller: Caller) -> Conversations:
        """Return a caller's conversations."""
        from ragkit.store.people.conversations import Conversations

        who = (caller.tenant, caller.principal, caller.readers)
        return Conversations(self.database.pool, *who)

    def conversation(
        self,
        caller: Caller,
        *,
        collection: str | None = None,
        id: UUID | None = None,
        model: str | None = None,
    ) -> Conversation:
        """Begin a conversation, or go on with the one of this id, whose collection then counts.

        `model` is as in `open`. Raises NotFoundError.
        """
        from ragkit.conversation.dialogue import Conversation
        from ragkit.prompts.templates import Templates

        conversations = self.conversations(caller)
        name = conversations.get(id).collection if id is not None else collection
        kb = self.open(caller, name, model=model)
        return Conversation(
            kb,
            conversations,
            model=self._model(model),
            templates=Templates(self.settings.prompts, kb.collection),
            history_tokens=self.settings.history_tokens,
            id=id,
        )

    def _model(self, name: str | None) -> LanguageModel | None:
        return self.model if name is None else self._named(name)

    def _open_model(self, name: str) -> LanguageModel | None:
        from ragkit.knowledge import build

        return build.language_model(self.settings.model_copy(update={"llm_model": name}))

    def _compose(
        self, tenant: str, collection: str, readers: Readers, model: str | None
    ) -> KnowledgeBase:
        return KnowledgeBase.over(
            self.database,
            self.settings,
            tenant=tenant,
            collection=collection,
            embedders=self.embedders,
            reranker=self.reranker,
            model=self._model(model),
            entails=self.entails,
            readers=readers,
        )
