"""A model server kept running: started, waited for, started again after a crash, stopped cleanly.

It knows when the server is ready and what to do when it ends; what it says and how it is shown
belongs to others.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import httpx

from ragkit.errors import ModelServerError
from ragkit_serve.model.serve.address import require_free_path
from ragkit_serve.model.serve.log import reason
from ragkit_serve.model.serve.options import Launch
from ragkit_serve.model.serve.process import ServerProcess

_POLL_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Restarts:
    """How often a server that was ready is started again: the defaults are arbitrary.

    The pause doubles from `first_s` to `longest_s`. After `most` starts in a row none of which
    lasted `lasting_s`, it is given up.
    """

    most: int = 5
    first_s: float = 1.0
    longest_s: float = 60.0
    lasting_s: float = 600.0

    def pause_s(self, again: int) -> float:
        """Return the pause before the start number `again`, which counts from 0."""
        return min(self.longest_s, self.first_s * 2.0**again)


@dataclass(frozen=True, slots=True)
class Watch:
    """What is told of a server's life: its log's lines, being ready, a restart, being stopped."""

    line: Callable[[str], None]
    ready: Callable[[], None]
    restart: Callable[[str], None]
    stopping: Callable[[], None]


def supervise(
    launch: Launch,
    watch: Watch,
    *,
    start_timeout_s: float,
    grace_s: float,
    restarts: Restarts | None = None,
) -> None:
    """Run a server until this is interrupted; it never returns on its own.

    Raises ModelServerError when the server does not get ready the first time, or crashes too
    often; on every way out the server and its children are ended, running answers first getting
    `grace_s`.
    """
    rule = restarts or Restarts()
    ready_before = False
    again = 0
    while True:
        started = time.monotonic()
        ended = _run_once(launch, watch, start_timeout_s=start_timeout_s, grace_s=grace_s)
        if not (ready_before or ended.ready):
            raise ModelServerError(f"the model server did not start: {ended.why}")
        ready_before = True
        again = 0 if time.monotonic() - started > rule.lasting_s else again
        if again == rule.most:
            raise ModelServerError(
                f"the model server ended {again + 1} times in a row, the last time so: {ended.why}"
            )
        pause_s = rule.pause_s(again)
        again += 1
        watch.restart(f"{ended.why}; it is started again in {pause_s:g} s")
        time.sleep(pause_s)


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a run ended by itself: whether the server had been ready, and why it ended."""

    ready: bool
    why: str


def _run_once(launch: Launch, watch: Watch, *, start_timeout_s: float, grace_s: float) -> _Ended:
    if launch.unix_socket is not None:
        require_free_path(launch.unix_socket)  # a run before leaves its own
    server = ServerProcess(launch, watch.line)
    try:
        ready = _becomes_ready(server, launch, start_timeout_s)
        if ready:
            watch.ready()
            while server.wait(3600) is None:
                pass
        server.kill()  # so that its last words have been read
        return _Ended(ready, f"{_ending(server, launch)}: {reason(tuple(server.last_lines))}")
    except (KeyboardInterrupt, SystemExit):
        if server.exit_code is None:
            watch.stopping()
        raise
    finally:
        server.stop(grace_s)


def _becomes_ready(server: ServerProcess, launch: Launch, timeout_s: float) -> bool:
    """Wait until the server is ready; False when it ended instead."""
    deadline = time.monotonic() + timeout_s
    with _client(launch) as client:
        while server.exit_code is None:
            if _is_ready(client, launch):
                return True
            if time.monotonic() > deadline:
                raise ModelServerError(
                    f"the model server was not ready after {timeout_s:g} s: see its log, or allow"
                    " it more with --start-timeout"
                )
            server.wait(_POLL_S)
    return False


def _ending(server: ServerProcess, launch: Launch) -> str:
    code = server.exit_code or 0
    if code == -signal.SIGKILL:
        return f"{launch.program} was killed, as happens where memory runs out"
    named = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
    return f"{launch.program} ended with {named}"


def _client(launch: Launch) -> httpx.Client:
    path = launch.unix_socket
    transport = httpx.HTTPTransport(uds=str(path)) if path else httpx.HTTPTransport()
    headers = {"Authorization": f"Bearer {launch.key}"}
    return httpx.Client(transport=transport, headers=headers, timeout=2.0, trust_env=False)


def _is_ready(client: httpx.Client, launch: Launch) -> bool:
    address = launch.base_url.removesuffix("/v1") + launch.ready_path
    try:
        return client.get(address).status_code == 200
    except httpx.TransportError:
        return False
