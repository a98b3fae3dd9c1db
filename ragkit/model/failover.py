"""Failover between several servers of one model: their order, pauses and retries.

A request moves to another server until the first piece of its answer has come, never later.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from ragkit.errors import ModelServerError
from ragkit.model.failures import Failure, explain, failed, foreign_errors
from ragkit.model.limits import Piece
from ragkit.model.server import ModelServer
from ragkit.types import Message

Exchange = Callable[[ModelServer], AsyncGenerator[Piece, None]]

# Arbitrary: what follows the system message in a prompt is passages, in a stable order, of a few
# hundred characters each. Prompts that share the first few belong on one server.
PREFIX_CHARS: Final = 1024
_REST_S, _LONGEST_REST_S = 1.0, 60.0  # arbitrary; doubled with each failure in a row


@dataclass(frozen=True, slots=True)
class Tries:
    """How often all servers are asked, and how long a wait between two rounds may be.

    After round n the wait is `backoff_s` * 2**(n - 1), half to all of it, or what a server asks for
    in Retry-After; one that asks for more than `longest_wait_s` is not waited for. Arbitrary
    defaults: a restarting proxy is bridged, a restarting model is not.
    """

    rounds: int = 3
    backoff_s: float = 0.5
    longest_wait_s: float = 20.0

    def pause_s(self, turn: int) -> float:
        """Choose the seconds to wait after round `turn`, from 1, where no server sets a time."""
        return self.backoff_s * 2.0 ** (turn - 1) * random.uniform(0.5, 1.0)  # noqa: S311  a pause, no secret


class Failover:
    """Ask servers in turn, and rest those that failed."""

    def __init__(self, servers: Sequence[ModelServer], tries: Tries) -> None:
        self._servers = tuple(servers)
        self._tries = tries
        self._resting: dict[ModelServer, tuple[int, float]] = {}  # failures in a row, until when

    async def answer(
        self, exchange: Exchange, prefix: str, model: str
    ) -> AsyncGenerator[Piece, None]:
        """Yield one server's answer. Raises ModelServerError, ModelServerBusyError."""
        failures: dict[ModelServer, Failure] = {}
        candidates: Sequence[ModelServer] = self.order(prefix)
        for turn in range(self._tries.rounds):
            if turn:
                await asyncio.sleep(self._wait_s(turn, [failures[server] for server in candidates]))
            for server in candidates:
                begun = False
                try:
                    async with aclosing(exchange(server)) as pieces:
                        async for piece in pieces:
                            begun = True
                            yield piece
                except foreign_errors() as error:
                    failures[server] = failure = await explain(error, server, model)
                    self.failed(failure)
                    if begun or not failure.elsewhere:
                        raise ModelServerError(str(failure)) from error
                else:
                    self.worked(server)
                    return
            candidates = [server for server in candidates if self._worth_waiting(failures[server])]
            if not candidates:
                break
        raise failed(list(failures.values()), self._all_failed(failures))

    def order(self, prefix: str) -> Sequence[ModelServer]:
        """Put the servers in order for a prompt: the resting last, else by rendezvous hashing.

        Thaler and Ravishankar, "Using name-based mappings to increase hit rates" (1998): each
        prompt has its own order of all servers, and losing one moves only its own prompts.
        """
        now = time.monotonic()

        def rank(server: ModelServer) -> tuple[float, bytes]:
            until = self._resting.get(server, (0, 0.0))[1]
            draw = hashlib.sha256(f"{prefix} {server.url}".encode()).digest()
            return (until if until > now else 0.0, draw)

        return sorted(self._servers, key=rank)

    def worked(self, server: ModelServer) -> None:
        """Note that a server answered."""
        self._resting.pop(server, None)

    def failed(self, failure: Failure) -> None:
        """Let a server that failed rest for a while."""
        if not failure.elsewhere:
            return  # the request was wrong, not the server
        count = self._resting.get(failure.server, (0, 0.0))[0] + 1
        rest_s = max(min(_REST_S * 2 ** (count - 1), _LONGEST_REST_S), failure.wait_s)
        self._resting[failure.server] = (count, time.monotonic() + rest_s)

    def _worth_waiting(self, failure: Failure) -> bool:
        return failure.is_transient and failure.wait_s <= self._tries.longest_wait_s

    def _wait_s(self, turn: int, failures: Sequence[Failure]) -> float:
        return max(self._tries.pause_s(turn), min(failure.wait_s for failure in failures))

    def _all_failed(self, failures: dict[ModelServer, Failure]) -> str:
        if len(failures) == 1:
            return str(next(iter(failures.values())))
        problems = "; ".join(
            f"{server.shown} {failure.problem}" for server, failure in failures.items()
        )
        return f"none of {len(failures)} language-model servers answered: {problems}"


def prefix_hash(messages: Sequence[Message]) -> str:
    """Hash the beginning that prompts may share: the system messages, then `PREFIX_CHARS`.

    Sixteen hexadecimal digits. Prompts with the same passages, and the turns of one conversation,
    have the same hash; a gateway can choose servers by it too.
    """
    system = "\n".join(m.content for m in messages if m.role == "system")
    dialogue = "\n".join(m.content for m in messages if m.role != "system")
    return hashlib.sha256(f"{system}\0{dialogue[:PREFIX_CHARS]}".encode()).hexdigest()[:16]
