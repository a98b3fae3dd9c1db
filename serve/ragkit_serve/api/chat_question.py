"""One chat request to a collection, and its answers as they are made in a thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from ragkit.conversation.follow_up import stream as stream_told
from ragkit.embed.current import latest
from ragkit.knowledge import build
from ragkit.model.tally import tally
from ragkit.prompts.templates import Templates
from ragkit.types import Answer, Hit, Reasoning, Usage
from ragkit_serve.api.chat_answer import Completion, Found
from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.front_ends import Task, read_task
from ragkit_serve.api.kept_answers import kept_answers

if TYPE_CHECKING:
    from ragkit.access.library import Caller
    from ragkit.conversation.dialogue import Conversation
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit_serve.api.chat_request import ChatRequest
    from ragkit_serve.api.model_names import Named
    from ragkit_serve.api.state import State

Piece = str | Reasoning | Found | Answer


class Question:
    """One request to a collection; `server` is the address that links to documents begin with.

    `spent` are the tokens that language models counted for it, `counted` those of answers for which
    none did. `task` is what a front end wants, where it is no question of a user's.
    """

    def __init__(
        self, state: State, chat_request: ChatRequest, caller: Caller, name: Named, server: str
    ) -> None:
        self.state = state
        self.asked = chat_request
        self.caller = caller
        self.text = chat_request.question()
        self.collection = state.services.library.name(caller, self._wanted(name))
        self.completion = Completion(chat_request.model, server)
        self.task = None if chat_request.options.conversation else read_task(chat_request.messages)
        self.spent: list[Usage] = []
        self.counted: list[Usage] = []
        self._found: list[tuple[Hit, ...]] = []
        self._queries: list[str] = []  # of each choice: what was searched for
        self._talk: Conversation | None = None

    def _wanted(self, name: Named) -> str | None:
        """Say which collection is asked; a conversation that goes on stays with its own."""
        collection = self.asked.options.collection or name.collection
        number = self.asked.options.conversation
        if not isinstance(number, UUID):
            return collection
        collection_name = (
            self.state.services.library.conversations(self.caller).get(number).collection
        )
        if collection not in {None, collection_name}:
            raise ApiError(
                400,
                f"conversation {number} is about collection {collection_name!r}: ask that, or begin"
                " a new one",
                param="ragkit.collection",
                code="invalid_value",
            )
        return collection_name

    def pieces(self) -> Iterator[tuple[int, Piece]]:
        """Yield the pieces of each choice after the other, each ending with its Answer."""
        with tally() as self.spent:
            if self.task is not None:
                yield from self._done(self.task)
            else:
                yield from self._answers()

    @property
    def usage(self) -> Sequence[Usage]:
        """The tokens of all answers so far."""
        return [*self.spent, *self.counted]

    def _answers(self) -> Iterator[tuple[int, Piece]]:
        answers: list[Answer] = []
        for choice in range(self.asked.n or 1):
            kb = self._adapted(choice)
            for piece in self._stream(kb):
                if self._found:
                    yield choice, Found(self._found.pop())
                if isinstance(piece, Answer):
                    answers.append(piece)
                    self._count(kb, piece, first=choice == 0)
                    self._keep(answers)
                yield choice, piece

    def _count(self, kb: KnowledgeBase, answer: Answer, *, first: bool) -> None:
        """Count an answer's tokens: by its language model, else by the embedding model."""
        if answer.usage is not None:
            self.spent.append(answer.usage)
            return
        texts = [message.text for message in self.asked.messages] if first else []
        embedder = latest(kb.embedder)  # the one that was just searched with
        prompt = sum(len(embedder.token_spans(text)) for text in texts)
        self.counted.append(Usage(prompt, len(embedder.token_spans(answer.text))))

    def _done(self, task: Task) -> Iterator[tuple[int, Piece]]:
        """Do what a front end wants, without documents; nothing of it is kept."""
        model, settings = self.state.services.library.model, self.state.services.settings
        for choice in range(self.asked.n or 1):
            if model is None:
                text = task.plain()
            else:
                requested = self.asked.max_completion_tokens or self.asked.max_tokens
                limit = settings.llm_max_tokens
                text = task.answer(model, max_tokens=min(requested or limit, limit))
            yield choice, text
            yield choice, Answer(text, refused=False, reason="")

    def _adapted(self, choice: int) -> KnowledgeBase:
        services, options = self.state.services, self.asked.options
        kb = services.library.open(self.caller, self.collection)
        kb.load_entailment()  # before a follow-up is made standalone, which asks the model
        return kb.adapted(
            passages=options.top_k,
            mode=options.mode,
            where=options.filter,
            as_of=options.as_of,
            refusal_threshold=options.refusal_threshold,
            decoding=self.asked.decoding(build.decoding(services.settings), choice),
            instructions=self.asked.instructions(),
            on_found=lambda hits: self._found.append(tuple(hits)),
        )

    def _stream(self, kb: KnowledgeBase) -> Iterator[str | Reasoning | Answer]:
        services = self.state.services
        if self.asked.options.conversation is not None:
            conversation = self._conversation(self.asked.options.conversation)
            conversation.kb = kb
            self._talk = conversation
            self.completion = replace(self.completion, conversation=str(conversation.id))
            replace_last = self.asked.options.replace_last
            return conversation.stream(self.text, replace_last=replace_last)
        return stream_told(
            kb,
            self.text,
            self.asked.turns(),
            model=services.library.model,
            templates=Templates(services.settings.prompts, self.collection),
            history_tokens=services.settings.history_tokens,
            on_query=self._queries.append,
        )

    def _conversation(self, id: UUID | str) -> Conversation:
        library = self.state.services.library
        if isinstance(id, UUID):
            return library.conversation(self.caller, id=id)
        return library.conversation(self.caller, collection=self.collection)

    def _keep(self, answers: Sequence[Answer]) -> None:
        """Keep what is to be kept, once it has all its choices; the first can be rated."""
        if not self.asked.store or len(answers) < (self.asked.n or 1):
            return
        last = self._talk.last if self._talk is not None else None
        kept_answers(self.state, self.caller).keep(
            self.completion.id,
            collection=self.collection,
            question=self.text,
            query=self._queries[0] if last is None else last.query,
            answer=answers[0],
            completion=self.completion.whole(answers, self.usage),
        )
