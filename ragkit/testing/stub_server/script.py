"""What a stub server is told to say: replies, faults, and the script that chooses among them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Messages = Sequence[Mapping[str, Any]]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the answer asks for, with its arguments."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, its thinking if any, and the pause before each streamed piece.

    `prefill_s` is the silence before anything is sent at all.
    """

    text: str = ""
    reasoning: str = ""
    delay_s: float = 0.0
    finish_reason: str = "stop"
    tool_calls: Sequence[ToolCall] = ()
    prefill_s: float = 0.0


Cut = Literal["", "reset", "quiet", "stall", "drip", "error", "garbage"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure: one of a status code, silence, a stream cut after `text`, or a malformed body.

    A cut is "reset" when the connection breaks, "quiet" when the stream merely ends, as vLLM's
    does when it shuts down, "stall" when nothing more comes, "drip" when a byte comes every
    `delay_s` and never a whole event, "error" when an error event comes, "garbage" when an event
    that is no JSON comes. In none of them is there a finish reason or `[DONE]`.
    `retry_date_s` writes Retry-After as a date, that many seconds from now.
    """

    status: int = 200
    message: str = "scripted fault"
    retry_after_s: int | None = None
    retry_date_s: float | None = None
    hang: bool = False
    cut: Cut = ""
    malformed: bool = False
    text: str = ""
    delay_s: float = 0.01


Script = Callable[[Messages], str | Reply | Fault]
Embed = Callable[[Sequence[str]], Iterable[Iterable[float]] | Fault]  # a vector for each text


@dataclass(frozen=True, slots=True)
class Request:
    """What the server was asked, kept for assertions; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json


def hash_terms(texts: Sequence[str]) -> Iterable[Iterable[float]]:
    """Embed texts as `ragkit.testing.FakeEmbedder` does: what shares terms is close."""
    from ragkit.testing.embedder import FakeEmbedder

    embedder = FakeEmbedder(max_tokens=1_000_000)
    embedder.load()
    vectors: Iterable[Iterable[float]] = embedder.embed_passages(texts).tolist()
    return vectors


_SOURCE = re.compile(
    r"<source id=\"1\"[^<>]*+>\n((?:(?!\n</source>|<source id=).)*+)\n</source>", re.DOTALL
)
_FIRST_SENTENCE = re.compile(r".*?(?:[。！？]|[.!?](?=\s|$))", re.DOTALL)


def quote_first_source(messages: Messages) -> str:
    """Answer with the first sentence of source 1, quoted and cited; without sources, echo."""
    last = str(messages[-1].get("content", "")) if messages else ""
    source = _SOURCE.search(last)
    if source is None:
        return last[:200] or "(no message)"
    text = source.group(1).strip()
    sentence = _FIRST_SENTENCE.match(text)
    quote = " ".join((sentence.group() if sentence else text).split())
    return f"The first source says: “{quote}” [1]"
