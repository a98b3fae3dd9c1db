"""What a stub server is told to say: replies, faults, and the script that chooses among them.

It knows nothing of HTTP.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Messages = Sequence[Mapping[str, Any]]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, its thinking if any, and the pause before each streamed piece."""

    text: str
    reasoning: str = ""
    delay_s: float = 0.0
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure: one of a status code, silence, a cut after `text`, or a malformed body.

    A cut is "reset" when the connection breaks, "quiet" when the stream merely ends, as vLLM's
    does when it shuts down: in both there is neither a finish reason nor `[DONE]`.
    """

    status: int = 200
    message: str = "scripted fault"
    retry_after_s: int | None = None
    hang: bool = False
    cut: Literal["", "reset", "quiet"] = ""
    malformed: bool = False
    text: str = ""


Script = Callable[[Messages], str | Reply | Fault]


@dataclass(frozen=True, slots=True)
class Request:
    """What the server was asked, kept for assertions; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json


_SOURCE = re.compile(r"<source id=\"1\"[^>]*>\n(.*?)\n</source>", re.DOTALL)
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
