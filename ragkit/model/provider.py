"""A language model of any provider that LangChain integrates, by name.

It passes decoding settings on under the names the integration has for them, and refuses those it
has none for. It knows no provider itself.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, cast

from ragkit.errors import ModelError, ModelServerError
from ragkit.model.bridge import Pieces
from ragkit.model.failures import refused
from ragkit.model.limits import Piece, bounded
from ragkit.model.quoting import quoted
from ragkit.model.thinking import Thinking
from ragkit.model.tokens import TokenCounter
from ragkit.types import Decoding, Finish, Message, Reasoning, Usage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk

# What LangChain's integrations call what ragkit calls by the key; the first that is a field counts.
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens", "num_predict", "max_output_tokens", "max_new_tokens"),
    "top_p": ("top_p",),
    "top_k": ("top_k",),
    "min_p": ("min_p",),
    "repetition_penalty": ("repetition_penalty", "repeat_penalty"),
    "presence_penalty": ("presence_penalty",),
    "seed": ("seed",),
    "json_schema": (),
    "regex": (),
}
_MAX_WORDS_CHARS: Final = 300  # of an error: one line, not a page
_ENDS: Final = {"max_tokens": "length", "MAX_TOKENS": "length", "end_turn": "stop", "STOP": "stop"}


class ProviderModel:
    """Continue chats with the model `name` of `provider`, a name LangChain's init_chat_model knows.

    The bounds are those of `ragkit.model.served.ServedModel`. Without `api_key` the integration
    looks for one in its own environment variable.
    """

    def __init__(
        self,
        provider: str,
        name: str,
        *,
        api_key: str | None = None,
        decoding: Decoding | None = None,
        timeout_s: float = 60.0,
        total_timeout_s: float = 600.0,
        context_tokens: int | None = None,
        tokenizer: str | None = None,
    ) -> None:
        self._provider = provider
        self._name = name
        self._api_key = api_key
        self._decoding = decoding or Decoding()
        self._timeout_s = timeout_s
        self._total_timeout_s = total_timeout_s
        self._context = context_tokens
        self._tokens = TokenCounter(name, tokenizer)
        self._kept: tuple[Decoding, BaseChatModel] | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def counting(self) -> str:
        """Say how `count_tokens` counts; known once it has counted something."""
        return self._tokens.how

    def load(self) -> None:
        """Make the integration's client, sending nothing; a second call does nothing.

        Raises ModelError for a provider that is unknown, not installed or wrongly set up.
        """
        self._chat(self._decoding)

    def stream(
        self, messages: Sequence[Message], decoding: Decoding | None = None
    ) -> Pieces[Piece]:
        """Yield the answer as it comes; see `ragkit.contracts.LanguageModel`.

        Raises ModelError also for a setting that the provider has no name for.
        """
        chosen = decoding or self._decoding
        answer = self._answer(self._chat(chosen), messages, chosen)
        return Pieces(bounded(answer, self._total_timeout_s, self._who))

    def context_tokens(self) -> int | None:
        """Return what the settings say, or LangChain's own list of models."""
        if self._context is None:
            profile: Any = getattr(self._chat(self._decoding), "profile", None) or {}
            limit = profile.get("max_input_tokens")
            self._context = limit if isinstance(limit, int) and limit > 0 else None
        return self._context

    def count_tokens(self, texts: Sequence[str]) -> Sequence[int]:
        """Count with the tokenizer of the settings, or estimate."""
        return self._tokens.count(texts)

    @property
    def _who(self) -> str:
        return f"model {self._name!r} of provider {self._provider}"

    async def _answer(
        self, chat: BaseChatModel, messages: Sequence[Message], decoding: Decoding
    ) -> AsyncGenerator[Piece, None]:
        from langsmith import tracing_context

        sent = [(m.role, m.content) for m in messages]
        thinking, reason, usage = Thinking(), "", None
        with tracing_context(enabled=False):  # whatever the environment says
            stream = cast("Any", chat.astream(sent, stop=list(decoding.stop) or None))
            async with aclosing(stream) as chunks:
                while (chunk := await self._next(chunks)) is not None:
                    reason = _reason(chunk) or reason
                    usage = _usage(chunk) or usage
                    for piece in _spoken(chunk):
                        for part in (
                            [piece] if isinstance(piece, Reasoning) else thinking.feed(piece)
                        ):
                            yield part
        for part in thinking.end():
            yield part
        yield Finish(reason or "stop", usage)  # not every integration tells

    async def _next(self, chunks: AsyncGenerator[AIMessageChunk, None]) -> AIMessageChunk | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await anext(chunks, None)
        except TimeoutError as error:
            raise ModelServerError(
                f"{self._who} sent nothing for {self._timeout_s:g} s: see its load, or raise"
                " RAGKIT_LLM_TIMEOUT_S"
            ) from error
        except Exception as error:  # an integration is a plug-in, with errors of its own kind
            raise _refused(f"{self._who} failed: {self._words(error)}", error) from error

    def _chat(self, decoding: Decoding) -> BaseChatModel:
        if self._kept is None or self._kept[0] != decoding:
            bare = self._init({})
            self._kept = (decoding, self._init(self._options(bare, decoding)))
        return self._kept[1]

    def _init(self, options: Mapping[str, Any]) -> BaseChatModel:
        from langchain.chat_models import init_chat_model

        key: dict[str, Any] = {} if self._api_key is None else {"api_key": self._api_key}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of options that an integration does not know
                chat: BaseChatModel = init_chat_model(
                    self._name, model_provider=self._provider, **{**key, **options}
                )
                return chat
        except ImportError as error:
            raise ModelError(f"provider {self._provider}: {self._words(error)}") from error
        except Exception as error:  # an integration is a plug-in, with errors of its own kind
            raise ModelError(f"{self._who} cannot be used: {self._words(error)}") from error

    def _options(self, chat: BaseChatModel, decoding: Decoding) -> dict[str, Any]:
        fields = type(chat).model_fields
        accepted = set(fields) | {field.alias for field in fields.values() if field.alias}
        options: dict[str, Any] = {}
        for name, names in _NAMES.items():
            value = getattr(decoding, name)
            option = next((candidate for candidate in names if candidate in accepted), None)
            if value is None:
                continue
            if option is None:
                raise ModelError(
                    f"provider {self._provider} takes no {name}: take it away, or serve the model"
                    " with vLLM"
                )
            options[option] = value
        return options

    def _words(self, error: BaseException) -> str:
        return quoted(str(error), self._api_key, _MAX_WORDS_CHARS) or type(error).__name__


def _refused(message: str, error: Exception) -> ModelServerError:
    """Read the status and headers that the providers' own clients put into their errors."""
    status = getattr(error, "status_code", 0)
    headers = getattr(getattr(error, "response", None), "headers", {})
    return refused(message, status if isinstance(status, int) else 0, headers)


def _spoken(chunk: AIMessageChunk) -> list[str | Reasoning]:
    pieces: list[str | Reasoning] = []
    for block in cast("list[dict[str, Any]]", chunk.content_blocks):
        if block["type"] == "text" and block.get("text"):
            pieces.append(str(block["text"]))
        elif block["type"] == "reasoning" and block.get("reasoning"):
            pieces.append(Reasoning(str(block["reasoning"])))
    return pieces


def _reason(chunk: AIMessageChunk) -> str:
    metadata = chunk.response_metadata
    reason = str(metadata.get("finish_reason") or metadata.get("stop_reason") or "")
    return _ENDS.get(reason, reason)


def _usage(chunk: AIMessageChunk) -> Usage | None:
    counted = chunk.usage_metadata
    if not counted:
        return None
    cached = counted.get("input_token_details", {}).get("cache_read")
    return Usage(counted["input_tokens"], counted["output_tokens"], cached)
