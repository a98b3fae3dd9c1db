"""Keep a model server running: start it, wait for it, restart it after a crash, stop it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import httpx

from ragkit.errors import ModelServerError
from ragkit_models.serve.address import require_free_path
from ragkit_models.serve.log import reason
from ragkit_models.serve.options import Launch
from ragkit_models.serve.process import ServerProcess

_POLL_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Restarts:
    """The rule of restarts; its defaults are arbitrary.

    The pause doubles from `first_s` to `longest_s`. After `limit` restarts in a row, none of which
    lasted `lasting_s`, the supervisor gives up.
    """

    limit: int = 5
    first_s: float = 1.0
    longest_s: float = 60.0
    lasting_s: float = 600.0

    def pause_s(self, restarts: int) -> float:
        """Return the pause before the next restart, after so many in a row."""
        return min(self.longest_s, self.first_s * 2.0**restarts)


@dataclass(frozen=True, slots=True)
class Watch:
    """Callbacks for a line of the log, the server being ready, a restart, and the stop."""

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
    """Run a server until ragkit is interrupted; never return otherwise.

    Raises ModelServerError when the server does not become ready the first time, or crashes too
    often. The server and its children are ended in every case, after running answers had
    `grace_s`.
    """
    rule = restarts or Restarts()
    was_ready = False
    count = 0
    while True:
        started = time.monotonic()
        ended = _run_once(launch, watch, start_timeout_s=start_timeout_s, grace_s=grace_s)
        if not (was_ready or ended.ready):
            raise ModelServerError(f"the model server did not start: {ended.reason}")
        was_ready = True
        count = 0 if time.monotonic() - started > rule.lasting_s else count
        if count == rule.limit:
            raise ModelServerError(
                f"the model server ended {count + 1} times in a row, the last time because"
                f" {ended.reason}"
            )
        pause_s = rule.pause_s(count)
        count += 1
        watch.restart(f"{ended.reason}; it starts again in {pause_s:g} s")
        time.sleep(pause_s)


@dataclass(frozen=True, slots=True)
class _Ended:
    """The end of a run: whether the server had been ready, and the reason."""

    ready: bool
    reason: str


def _run_once(launch: Launch, watch: Watch, *, start_timeout_s: float, grace_s: float) -> _Ended:
    if launch.unix_socket is not None:
        require_free_path(launch.unix_socket)  # the previous run leaves its socket
    server = ServerProcess(launch, watch.line)
    try:
        ready = _wait_until_ready(server, launch, start_timeout_s)
        if ready:
            watch.ready()
            while server.wait(3600) is None:
                pass
        server.kill()  # so that its last lines have been read
        return _Ended(ready, f"{_ending(server, launch)}: {reason(tuple(server.last_lines))}")
    except (KeyboardInterrupt, SystemExit):
        if server.exit_code is None:
            watch.stopping()
        raise
    finally:
        server.stop(grace_s)


def _wait_until_ready(server: ServerProcess, launch: Launch, timeout_s: float) -> bool:
    """Wait until the server is ready; return False when it ended instead."""
    deadline = time.monotonic() + timeout_s
    with _client(launch) as client:
        while server.exit_code is None:
            if _is_ready(client, launch):
                return True
            if time.monotonic() > deadline:
                raise ModelServerError(
                    f"the model server was not ready after {timeout_s:g} s: read its log, or allow"
                    " more time with --start-timeout"
                )
            server.wait(_POLL_S)
    return False


def _ending(server: ServerProcess, launch: Launch) -> str:
    code = server.exit_code or 0
    if code == -signal.SIGKILL:
        return f"{launch.program} was killed, as happens where memory runs out"
    status = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
    return f"{launch.program} ended with {status}"


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
