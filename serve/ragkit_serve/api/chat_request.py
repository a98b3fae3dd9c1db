"""A chat completion's request: OpenAI's fields, and ragkit's own options under one key.

What a field means is decided here; how it is answered is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from ragkit.types import Decoding, Mode, Turn
from ragkit_serve.api.as_of import AsOf
from ragkit_serve.api.errors import ApiError

# OpenAI's that change nothing of an answer here, and are taken and left aside.
_HARMLESS: Final = frozenset(
    {"user", "metadata", "store", "service_tier", "parallel_tool_calls", "safety_identifier"}
    | {"prompt_cache_key", "verbosity", "prompt_cache_retention"}
)
# vLLM's and others' that a language model behind ragkit is told.
_SAMPLING: Final = frozenset({"top_k", "min_p", "repetition_penalty"})

MAX_NUMBER: Final = 1_000_000  # arbitrary: of top_k, the largest of them; a vocabulary is smaller


class Message(BaseModel):
    """One message; of content in parts only the text is read."""

    model_config = ConfigDict(extra="allow")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """The message's text. Raises ApiError for parts that are no text."""
        if not isinstance(self.content, list):
            return self.content or ""
        for part in self.content:
            if part.get("type") != "text" or not isinstance(part.get("text"), str):
                raise ApiError(
                    400,
                    f"content of type {str(part.get('type'))[:40]!r} cannot be answered from"
                    " documents: send text",
                    param="messages",
                    code="unsupported_content",
                )
        return "\n".join(part["text"] for part in self.content)


class StreamOptions(BaseModel):
    """What a stream is to tell beside the text."""

    model_config = ConfigDict(extra="allow")
    include_usage: bool = False


class Options(BaseModel):
    """What ragkit is asked beside OpenAI's fields.

    `collection` is asked in the place of the one that the model's name says. `conversation` is
    the id of one that the server keeps, or "new": then only the last message is read. With
    `replace_last` it is asked as if the last question there had not been, and takes the place of
    that one and its answer when it is answered.
    """

    model_config = ConfigDict(extra="forbid")
    collection: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    filter: dict[str, Any] | str | None = None
    as_of: AsOf = None
    top_k: Annotated[int, Field(ge=1, le=100)] | None = None
    mode: Mode | None = None
    refusal_threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    conversation: UUID | Literal["new"] | None = None
    replace_last: bool = False


class ChatRequest(BaseModel):
    """A request for a chat completion."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "model": "ragkit",
                    "messages": [{"role": "user", "content": "How many days of leave do I have?"}],
                    "stream": False,
                    "ragkit": {"top_k": 5, "mode": "hybrid"},
                },
                {
                    "model": "ragkit",
                    "messages": [
                        {"role": "user", "content": "How many days of leave do I have in 2026?"}
                    ],
                    "ragkit": {
                        "conversation": "6f1c2a9b-3f9e-4c55-9d0a-2f6f8f3c7c11",
                        "replace_last": True,
                    },
                },
            ]
        },
    )
    model: Annotated[str, Field(min_length=1, max_length=500)]
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=8)] | None = None
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    response_format: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    store: bool | None = None
    ragkit: Options | None = None

    @property
    def options(self) -> Options:
        """ragkit's own options."""
        return self.ragkit or Options()

    @property
    def usage_wanted(self) -> bool:
        """Tell whether a stream is to end with the tokens counted."""
        return self.stream_options is not None and self.stream_options.include_usage

    def decoding(self, default: Decoding, choice: int) -> Decoding:
        """Return how the language model is to choose its tokens, for the choice of this number.

        Raises ApiError for fields that nothing here can honour.
        """
        extra = {name: value for name, value in (self.model_extra or {}).items() if value}
        for name in extra.keys() - _HARMLESS - _SAMPLING:
            raise ApiError(
                400,
                f"{name[:60]!r} means nothing to answers from documents: leave it out, or ask the"
                " served model itself",
                param=name[:60],
                code="unsupported_parameter",
            )
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        seed = self.seed if self.seed is not None else default.seed
        return Decoding(
            temperature=_or(self.temperature, default.temperature),
            top_p=_or(self.top_p, default.top_p),
            top_k=_or(_number(extra, "top_k", int), default.top_k),
            min_p=_or(_number(extra, "min_p", float), default.min_p),
            repetition_penalty=_or(
                _number(extra, "repetition_penalty", float), default.repetition_penalty
            ),
            presence_penalty=_or(self.presence_penalty, default.presence_penalty),
            max_tokens=self.max_completion_tokens or self.max_tokens or default.max_tokens,
            stop=stop or default.stop,
            seed=None if seed is None else seed + choice,
            json_schema=_schema(self.response_format),
        )

    def question(self) -> str:
        """Return the question: the last message, which must be the user's. Raises ApiError."""
        last = self.messages[-1]
        if last.role != "user":
            raise ApiError(
                400, "the last message must be the user's", param="messages", code="no_question"
            )
        return last.text

    def check_conversation(self) -> None:
        """Raise ApiError for what a kept conversation cannot do, or cannot be asked without."""
        problem, param = "", "ragkit.replace_last"
        if self.options.conversation is not None and (self.n or 1) > 1:
            problem, param = "a conversation goes on with one answer: leave n out", "n"
        elif self.options.replace_last and not isinstance(self.options.conversation, UUID):
            problem = "needs a conversation that has an answer: give its id in ragkit.conversation"
        elif self.options.replace_last and self.tools:
            problem = "means nothing with tools: no answer is kept then"
        if problem:
            raise ApiError(400, f"{param}: {problem}", param=param, code="invalid_value")

    def instructions(self) -> str:
        """Return what system and developer messages say."""
        return "\n\n".join(m.text for m in self.messages if m.role in {"system", "developer"})

    def turns(self) -> Sequence[Turn]:
        """Return the questions before and their answers, oldest first."""
        turns: list[Turn] = []
        question: str | None = None
        for message in self.messages[:-1]:
            if message.role == "user":
                question = message.text
            elif message.role == "assistant" and question is not None:
                turns.append(Turn(question, message.text))
                question = None
        return turns


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _number(extra: dict[str, Any], name: str, kind: type) -> Any:
    value = extra.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ApiError(400, f"{name} must be a number", param=name, code="invalid_value")
    if abs(value) > MAX_NUMBER:
        problem = f"{name} must be at most {MAX_NUMBER:,}"
        raise ApiError(400, problem, param=name, code="invalid_value")
    return kind(value)


def _schema(response_format: dict[str, Any] | None) -> dict[str, Any] | None:
    """Read a response format: text, any JSON object, or what a schema allows."""
    if response_format is None or response_format.get("type") == "text":
        return None
    if response_format.get("type") == "json_object":
        return {"type": "object"}
    named = response_format.get("json_schema")
    schema = named.get("schema") if isinstance(named, dict) else None
    if response_format.get("type") == "json_schema" and isinstance(schema, dict):
        return schema
    raise ApiError(
        400,
        "response_format must be of type text, json_object, or json_schema with a schema",
        param="response_format",
        code="invalid_value",
    )
