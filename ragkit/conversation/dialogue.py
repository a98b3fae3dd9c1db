"""A conversation: questions to a knowledge base, with follow-ups.

An answered question is stored in the database; one that failed or was cancelled is not. No
transaction is open while a model works.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, Self
from uuid import UUID, uuid4

from ragkit.answer.write.greeting import is_greeting
from ragkit.conversation import memory
from ragkit.conversation.follow_up import answer_by_words, rewrite_if_needed
from ragkit.conversation.memory import Memory
from ragkit.conversation.passages import fetch_passages
from ragkit.conversation.record import turn_of
from ragkit.errors import BusyError, DatabaseError, ModelError, NotFoundError, UsageError
from ragkit.knowledge.base import KnowledgeBase
from ragkit.question.rewrite import STANDS_ALONE, Standalone
from ragkit.store.people.conversations import (
    LEASE_S,
    Conversations,
    StoredTurn,
    storable,
    title_of,
)
from ragkit.system.clock import Clock
from ragkit.system.closing import Closing
from ragkit.types import Answer, Hit, Reasoning, Turn

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit.prompts.templates import Templates
    from ragkit.settings.settings import Settings

# A stopped question ends with the model's next word, which may take this long.
STOPPING_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The query of a question, the history, and the passages that were cited before.

    Without a model the query is chosen while the question is answered, by the `previous` turn.
    """

    query: Standalone
    memory: Memory
    cited: tuple[Hit, ...] = ()
    previous: Turn | None = None


class Conversation(Closing):
    """Ask questions one after the other; follow-ups may need the turns before them.

    `model` rewrites follow-ups and summarises the past; without one, words of the previous question
    are added to a follow-up. Without an `id` a new conversation begins with its first answer.

    >>> with Conversation.open() as conversation:  # doctest: +SKIP
    ...     conversation.ask("How many days of leave do I have?")
    ...     conversation.ask("And how many of them can I carry over?")
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        conversations: Conversations,
        *,
        model: LanguageModel | None = None,
        templates: Templates | None = None,
        history_tokens: int = 1000,
        id: UUID | None = None,
    ) -> None:
        from ragkit.prompts.templates import Templates

        self.kb = kb
        self.conversations = conversations
        self.id = id or uuid4()
        self.last: StoredTurn | None = None  # the turn of the latest question
        self._begun = id is not None
        self._model = model
        self._templates = templates or Templates()
        self._history_tokens = history_tokens

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        id: str | None = None,
        collection: str | None = None,
    ) -> Self:
        """Open a knowledge base for a new conversation, or for the one that `id` names or begins.

        Raises SettingsError, DatabaseError; NotFoundError for an unknown conversation, UsageError
        for one about another collection.
        """
        from ragkit.knowledge import build
        from ragkit.prompts.templates import Templates
        from ragkit.settings.settings import load_settings
        from ragkit.store.open import open_database

        settings = settings or load_settings()
        number: UUID | None = None
        if id is not None:
            with open_database(settings) as database:
                conversations = Conversations(database.pool, settings.tenant, settings.principal)
                stored = conversations.get(conversations.find(id))
            if collection not in (None, stored.collection):
                raise UsageError(
                    f"conversation {stored.id} is about collection {stored.collection!r}: leave"
                    f" --collection {collection} out, or begin a new conversation"
                )
            number, collection = stored.id, stored.collection
        kb = KnowledgeBase.open(settings, collection=collection)
        assert kb.database is not None, "it was opened with one"
        return cls(
            kb,
            Conversations(kb.database.pool, settings.tenant, settings.principal),
            model=build.language_model(settings),
            templates=Templates(settings.prompts, kb.collection),
            history_tokens=settings.history_tokens,
            id=number,
        )

    def another(self, id: UUID | None = None) -> Conversation:
        """Return a new conversation, or a stored one, over the same knowledge base."""
        return Conversation(
            self.kb,
            self.conversations,
            model=self._model,
            templates=self._templates,
            history_tokens=self._history_tokens,
            id=id,
        )

    def turns(self) -> Sequence[StoredTurn]:
        """List the turns so far; none before the first answer."""
        return self.conversations.turns(self.id) if self._begun else ()

    def ask(self, question: str, *, replace_last: bool = False) -> Answer:
        """Answer a question with regard to the turns before it; see `stream`."""
        answer: Answer | None = None
        for piece in self.stream(question, replace_last=replace_last):
            if isinstance(piece, Answer):
                answer = piece
        assert answer is not None, "a stream ends with an Answer"
        return answer

    def stream(
        self, question: str, *, replace_last: bool = False
    ) -> Iterator[str | Reasoning | Answer]:
        """Yield the answer's text in pieces, then the verified Answer, which is then already
        stored.

        A stream that fails or is closed earlier stores no turn. Read to its end, it also summarises
        the past if that has outgrown its budget. With `replace_last` the question, the same or
        another, is asked as if the last turn did not exist, and replaces it once it is answered.
        Raises what `KnowledgeBase.stream` does, BusyError where another question to this
        conversation is still being answered after three seconds, and UsageError where there is no
        turn to replace.
        """
        question = storable(question)
        token = uuid4()
        if replace_last and not self._begun:
            raise nothing_to_replace()
        creation = None if self._begun else (self.kb.collection, title_of(question))
        self._take(token, creation)
        stored = False
        try:
            with closing(self._answered(question, token, replace_last)) as pieces:
                for piece in pieces:
                    if isinstance(piece, Answer):
                        stored = self._begun = True
                    yield piece
        finally:
            if not stored:
                with suppress(DatabaseError):  # its lease then expires
                    self.conversations.abandon(self.id, token)
        self._condense()

    def delete(self) -> None:
        """Delete this conversation with everything in it."""
        self.conversations.delete(self.id)
        self._begun, self.last = False, None
        self.id = uuid4()

    def close(self) -> None:
        """Close the knowledge base, if that opened its database."""
        self.kb.close()

    def _take(self, token: UUID, creation: tuple[str, str] | None) -> None:
        """Claim the conversation; wait a moment for a question to it that was just stopped."""
        deadline = monotonic() + STOPPING_S
        while True:
            try:
                return self.conversations.begin(self.id, token, new=creation)
            except BusyError:
                if monotonic() > deadline:
                    raise
            sleep(0.05)

    def _answered(
        self, question: str, token: UUID, replace_last: bool
    ) -> Generator[str | Reasoning | Answer, None, None]:
        clock = Clock()
        turns = self.turns()
        replaced = turns[-1] if replace_last and turns else None
        if replace_last and replaced is None:
            raise nothing_to_replace()
        prepared = self._prepare(question, turns if replaced is None else turns[:-1], clock)
        renewed = self._renew(token, 0.0)
        queries: list[Standalone] = []
        for piece in self._stream(question, prepared, queries.append):
            renewed = self._renew(token, renewed)
            if not isinstance(piece, Answer):
                yield piece
                continue
            answer = replace(piece, timings=clock.seconds | dict(piece.timings))
            turn = turn_of(question, queries[-1], prepared.memory, answer)
            ordinal, created_at = self.conversations.finish(self.id, token, turn, replaces=replaced)
            self.last = replace(turn, ordinal=ordinal, created_at=created_at)
            yield answer

    def _stream(
        self, question: str, prepared: _Prepared, on_query: Callable[[Standalone], None]
    ) -> Iterator[str | Reasoning | Answer]:
        query, cited = prepared.query, prepared.cited
        if prepared.previous is not None:
            return answer_by_words(
                self.kb, question, prepared.previous, cited=cited, on_query=on_query
            )
        on_query(query)
        return self.kb.stream(
            question, query=query.text, history=prepared.memory.turns, candidates=cited
        )

    def _prepare(self, question: str, turns: Sequence[StoredTurn], clock: Clock) -> _Prepared:
        if is_greeting(question):
            return _Prepared(Standalone(question, "as asked"), Memory((), "not shown"))
        turns = [turn for turn in turns if not is_greeting(turn.question)]
        if not turns or not self._history_tokens:
            return _Prepared(Standalone(question, "as asked"), Memory((), "no turns before"))
        stored = self.conversations.get(self.id)
        if stored.summarised > turns[-1].ordinal:  # it covers the turn to replace
            stored = replace(stored, summary="", summarised=0)
        recent = [turn for turn in turns if turn.ordinal > stored.summarised]
        used = [passage for turn in recent for passage in turn.used]
        kb, cited_last = self.kb, turns[-1].cited
        passages = fetch_passages(kb.store, kb.collection, used, cited_last, where=kb.where)
        cited = tuple(passages[chunk] for chunk in turns[-1].cited if chunk in passages)
        if self._model is None:
            clock.stop("history")
            alone = Standalone(question, STANDS_ALONE)
            return _Prepared(
                alone, Memory((), "not shown"), cited, Turn(turns[-1].query, turns[-1].answer)
            )
        remembered = memory.recall(
            stored,
            turns,
            passages,
            count=self._model.count_tokens,
            budget_tokens=self._history_tokens,
        )
        clock.stop("history")
        query = rewrite_if_needed(self._model, self._templates, question, remembered.turns)
        clock.stop("rewrite")
        # Passages of the last answer are no sources for a question about another subject.
        return _Prepared(query, remembered, () if query.made == STANDS_ALONE else cited)

    def _renew(self, token: UUID, renewed: float) -> float:
        current = monotonic()
        if current - renewed < LEASE_S / 3:
            return renewed
        with suppress(DatabaseError):  # the end of the turn shows whether it can be stored
            self.conversations.renew(self.id, token)
        return current

    def _condense(self) -> None:
        """Summarise the past; where that fails, later prompts leave it out, as their traces say."""
        if self._model is None or not self._history_tokens:
            return
        with suppress(ModelError, NotFoundError):
            stored = self.conversations.get(self.id)
            result = memory.condense(
                self._model,
                self._templates,
                stored,
                self.turns(),
                budget_tokens=self._history_tokens,
            )
            if result is not None:
                summary, covered = result
                self.conversations.summarise(self.id, summary, old=stored.summarised, new=covered)


def nothing_to_replace() -> UsageError:
    """Return the error that a conversation has no turn yet."""
    return UsageError("there is no answer to replace yet: ask a question first")
