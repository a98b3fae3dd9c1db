"""One request to a server, timed as a client sees it: when each read came, and what it said.

While requests run only arrivals are noted down; what they mean is read afterwards, so that the
reading does not slow the measuring.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from ragkit_serve.model.bench.summary import Row

if TYPE_CHECKING:
    import httpx

_MAX_BYTES: Final = 32 * 2**20  # of one answer; arbitrary, a streamed token takes some 300
_SAID_CHARS: Final = 200


@dataclass(slots=True)
class Heard:
    """What came back for one request, and when; `error` names a failure of the connection."""

    sent: float
    reads: list[tuple[float, bytes]] = field(default_factory=list)
    status: int = 0
    error: str = ""
    ended: float = 0.0


async def ask(
    client: httpx.AsyncClient, url: str, content: bytes, timeout_s: float, due: float | None = None
) -> Heard:
    """Send one request and note what arrives; a failure is noted as well, and none is raised.

    Time counts from `due` where the request should have been sent earlier than it could be.
    """
    import httpx

    heard = Heard(perf_counter() if due is None else due)
    try:
        async with asyncio.timeout(timeout_s), client.stream("POST", url, content=content) as reply:
            heard.status = reply.status_code
            size = 0
            async for data in reply.aiter_raw():
                heard.reads.append((perf_counter(), data))
                size += len(data)
                if size > _MAX_BYTES:
                    heard.error = "too long"
                    break
    except (TimeoutError, httpx.TimeoutException):
        heard.error = "timeout"
    except httpx.ConnectError:
        heard.error = "no connection"
    except httpx.TransportError:
        heard.error = "broken off"
    heard.ended = perf_counter()
    return heard


@dataclass(slots=True)
class _Reading:
    """What the events of one answer say."""

    arrivals: list[float] = field(default_factory=list)
    last: float = 0.0
    finished: bool = False
    usage: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    said: str = ""


def row(heard: Heard, number: int, group: int, began: float) -> Row:
    """Make a row of what was heard; `began` is when the level's first request was sent."""
    read = _read(heard)
    start = heard.sent - began
    if read.error:
        return Row(
            number=number, group=group, start_s=start, e2e_s=heard.ended - heard.sent,
            error=read.error, said=_one_line(read.said),
        )  # fmt: skip
    first = read.arrivals[0] if read.arrivals else read.last
    told = _count(read.usage.get("completion_tokens"))
    details = read.usage.get("prompt_tokens_details")
    return Row(
        number=number,
        group=group,
        start_s=start,
        e2e_s=read.last - heard.sent,
        ttft_s=first - heard.sent,
        gaps_s=tuple(b - a for a, b in pairwise(read.arrivals)),
        prompt_tokens=_count(read.usage.get("prompt_tokens")),
        output_tokens=len(read.arrivals) if told is None else told,
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )


def _read(heard: Heard) -> _Reading:
    read = _Reading()
    if heard.status and heard.status != 200:
        read.error = f"HTTP {heard.status}"
        read.said = _message(b"".join(data for _, data in heard.reads))
        return read
    for at, line in _lines(heard.reads):
        if line.startswith(b"data:") and not read.error:
            _event(line[5:].strip(), at, read)
    if heard.error:
        read.error = heard.error
    elif not read.error and not read.finished:
        read.error = "no end" if heard.reads else "no answer"
    return read


def _event(data: bytes, at: float, read: _Reading) -> None:
    if data == b"[DONE]":
        return
    try:
        event = json.loads(data)
        if "error" in event:
            read.error, read.said = "error event", _message(data)
            return
        if isinstance(event.get("usage"), dict):
            read.usage = event["usage"]
        for choice in event["choices"]:
            delta = choice.get("delta") or {}
            text = delta.get("content") or delta.get("reasoning") or delta.get("reasoning_content")
            if text:
                read.arrivals.append(at)
            read.finished = read.finished or bool(choice.get("finish_reason"))
            read.last = at
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        read.error = "not understood"


def _lines(reads: list[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    """Yield whole lines with the time at which their end arrived."""
    rest = b""
    for at, data in reads:
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield at, line
    if rest and reads:
        yield reads[-1][0], rest


def _message(data: bytes) -> str:
    """Find the server's words in an error's body."""
    try:
        value = json.loads(data)
        error = value.get("error", value)
        return str(error["message"]) if isinstance(error, dict) else str(error)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return data[:_SAID_CHARS].decode("utf-8", "replace")


def _one_line(words: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= _SAID_CHARS else line[: _SAID_CHARS - 3] + "..."


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
