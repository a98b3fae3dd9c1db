"""Answers written by a language model behind an OpenAI-compatible server, through LangChain.

It sends a prompt, streams what comes, and reads citations and refusals out of it. It does not
judge the answer: that is for `ragkit.answer.verify`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Final, cast

from ragkit.answer.citations import cite
from ragkit.answer.markers import markers
from ragkit.answer.model_server import NO_KEY, ModelServer, failure, foreign_errors, probe
from ragkit.answer.numbers import numbers
from ragkit.answer.prompt import REFUSAL, Prompt, build_prompt
from ragkit.answer.thinking import CLOSE, OPEN, without_thinking
from ragkit.errors import ModelError, ModelServerError
from ragkit.types import Draft, Hit, Usage

if TYPE_CHECKING:
    from collections.abc import Generator as Coroutine

    from langchain_core.messages import AIMessageChunk
    from langchain_openai import ChatOpenAI

__all__ = ["ChatGenerator", "probe"]

CUT_SHORT: Final = "the answer was cut off after {max_tokens} tokens"
MAX_ANSWER_CHARS = 100_000  # arbitrary; far more than max_tokens allows an honest server
_SOFT = re.compile(r"[\s\"'“”「」*.。!！]+")


class ChatGenerator:
    """Write answers with a chat model served at `url` (its /v1 base) under the name `model`.

    `timeout_s` bounds every silence, not the whole answer. A failed request is sent again at most
    `max_retries` times, never once an answer has begun. The defaults are arbitrary.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        temperature: float = 0.0,
        max_tokens: int = 1024,
        budget_tokens: int = 3000,
        max_retries: int = 1,
    ) -> None:
        self._server = ModelServer(url, api_key, timeout_s)
        self._model = model
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._budget_tokens = budget_tokens
        self._max_retries = max_retries
        self._chat: ChatOpenAI | None = None

    def load(self) -> None:
        """Prepare the client, sending nothing; a second call does nothing. Raises SettingsError."""
        self._ready()

    def generate(self, question: str, passages: Sequence[Hit]) -> Iterator[str | Draft]:
        """Yield the answer as it is written, then its Draft; see `ragkit.contracts.Generator`."""
        prompt = build_prompt(question, passages, budget_tokens=self._budget_tokens)
        if not prompt.used:  # nothing to answer from: no need to ask
            text = REFUSAL[prompt.language]
            yield text
            yield Draft(text, refused=True, reason=text)
            return
        stream = _Stream()
        pieces: list[str] = []
        with closing(self._chunks(prompt)) as chunks:
            for piece in without_thinking(stream.texts(chunks)):
                pieces.append(piece)
                yield piece
        text = "".join(pieces)
        self._require_whole(text, stream.finish_reason)
        yield self._draft(text, prompt, stream)

    def _draft(self, text: str, prompt: Prompt, stream: _Stream) -> Draft:
        refusal = refusal_in(text)
        if refusal:
            return Draft(text, refused=True, reason=refusal, usage=stream.usage)
        cut = stream.finish_reason == "length"
        reason = CUT_SHORT.format(max_tokens=self._max_tokens) if cut else ""
        return Draft(text, cite(text, prompt.used), reason=reason, usage=stream.usage)

    def _require_whole(self, text: str, finish_reason: str) -> None:
        who = f"language-model server {self._server.shown}"
        if not finish_reason:
            raise ModelServerError(
                f"{who} stopped in the middle of its answer: see its log, then ask again"
            )
        if not text.strip():
            why = (
                f"model {self._model!r} used up its {self._max_tokens} tokens before answering:"
                " allow it more, or turn its thinking off"
                if finish_reason == "length"
                else f"model {self._model!r} answered nothing: check its chat template"
            )
            raise ModelServerError(f"{who}: {why}")
        if CLOSE in text and OPEN not in text.partition(CLOSE)[0]:
            raise ModelServerError(
                f"{who} mixes the thinking of model {self._model!r} into its answer: start it with"
                " the model's reasoning parser (vLLM: --reasoning-parser)"
            )

    def _chunks(self, prompt: Prompt) -> Coroutine[AIMessageChunk, None, None]:
        chat, quiet, foreign = self._ready(), _untraced(), foreign_errors()
        # LangChain declares an iterator; it is a generator, whose closing frees the connection.
        stream = cast("Coroutine[AIMessageChunk, None, None]", chat.stream(list(prompt.messages)))
        with closing(stream):
            while True:
                try:
                    chunk = quiet.run(next, stream, None)
                except foreign as error:
                    raise failure(error, self._server, self._model) from error
                except RuntimeError as error:  # LangChain's own complaint about its settings
                    raise ModelError(
                        f"LangChain cannot run: {' '.join(str(error).split())}"
                    ) from error
                if chunk is None:
                    return
                yield chunk

    def _ready(self) -> ChatOpenAI:
        if self._chat is None:
            self._server.check()
            from langchain_openai import ChatOpenAI
            from pydantic import SecretStr

            self._chat = ChatOpenAI(
                model=self._model,
                base_url=self._server.url,
                api_key=SecretStr(self._server.api_key or NO_KEY),
                timeout=self._server.timeout(),
                temperature=self._temperature,
                max_retries=self._max_retries,
                stream_usage=True,
                use_responses_api=False,
                # ChatOpenAI would rename it to max_completion_tokens, which not every server knows.
                extra_body={"max_tokens": self._max_tokens},
            )
        return self._chat


class _Stream:
    """What a stream of chunks says besides its text, known once it has ended."""

    def __init__(self) -> None:
        self.finish_reason = ""
        self.usage: Usage | None = None

    def texts(self, chunks: Iterator[AIMessageChunk]) -> Iterator[str]:
        received = 0
        for chunk in chunks:
            text = chunk.content if isinstance(chunk.content, str) else ""
            received += max(len(text), 1)
            if received > MAX_ANSWER_CHARS:
                raise ModelServerError(
                    f"the answer runs past {MAX_ANSWER_CHARS} characters: the language-model server"
                    " ignores max_tokens; stop it and see its log"
                )
            self.finish_reason = str(
                chunk.response_metadata.get("finish_reason") or self.finish_reason
            )
            if chunk.usage_metadata:
                counted = chunk.usage_metadata
                self.usage = Usage(counted["input_tokens"], counted["output_tokens"])
            if text:
                yield text


def refusal_in(text: str) -> str:
    """Return the refusal sentence that an answer begins with, or "" when it answers after all.

    An answer that goes on to cite or to give numbers is one, and must stand up to checking.

    >>> refusal_in('"The sources do not answer this question."')
    'The sources do not answer this question.'
    """
    plain = _SOFT.sub(" ", text).strip().casefold()
    for sentence in REFUSAL.values():
        if plain.startswith(_SOFT.sub(" ", sentence).strip().casefold()):
            return "" if markers(text) or numbers(text) else sentence
    return ""


def _untraced() -> Context:
    """Make a context in which LangChain reports to no tracing service, whatever the environment."""
    from langsmith import tracing_context

    with tracing_context(enabled=False):
        return copy_context()
