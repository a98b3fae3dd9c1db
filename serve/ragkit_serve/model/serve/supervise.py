"""A model server kept running: started, waited for, started again after a crash, stopped cleanly.

It knows when the server is ready and what to do when it ends; what it says and how it is shown
belongs to others.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from ragkit.errors import ModelServerError, UsageError
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
    """What is told of a server's life: each line of its log, its being ready, each restart."""

    line: Callable[[str], None]
    ready: Callable[[], None]
    restart: Callable[[str], None]


def supervise(
    launch: Launch,
    watch: Watch,
    *,
    start_timeout_s: float,
    grace_s: float,
    restarts: Restarts | None = None,
) -> None:
    """Run a server until this is interrupted; it never returns on its own.

    Raises ModelServerError when the server does not get ready or crashes too often; on every way
    out the server and its helpers are ended, running answers first getting `grace_s`.
    """
    rule = restarts or Restarts()
    again = 0
    while True:
        started = time.monotonic()
        server = ServerProcess(launch, watch.line)
        try:
            _wait_until_ready(server, launch, start_timeout_s)
            watch.ready()
            while server.wait(3600) is None:
                pass
            code = server.exit_code
        finally:
            server.stop(grace_s)
        again = 0 if time.monotonic() - started > rule.lasting_s else again
        said = f"the server ended with code {code}"
        if again == rule.most:
            raise ModelServerError(
                f"{said} {again + 1} times in a row: {reason(tuple(server.last_lines))}"
            )
        pause_s = rule.pause_s(again)
        again += 1
        watch.restart(f"{said}; it is started again in {pause_s:g} s")
        time.sleep(pause_s)


def require_free(launch: Launch, host: str, port: int) -> None:
    """Raise UsageError when the server's address is taken, before minutes are spent on a start."""
    path = launch.unix_socket
    if path is not None:
        _require_free_path(path)
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UsageError(
                f"{host}:{port} cannot be used ({error.strerror}): choose another --port"
            ) from error


def _require_free_path(path: Path) -> None:
    if len(bytes(path)) > 107:  # sun_path of Linux
        raise UsageError(f"{path} is too long for a unix socket: at most 107 bytes")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent} for the socket: make it first")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            path.unlink()  # left by a server that was killed
            return
        except OSError as error:
            raise UsageError(f"{path} is there and no socket: choose another path") from error
    raise UsageError(f"another server listens at {path}: stop it, or choose another path")


def _wait_until_ready(server: ServerProcess, launch: Launch, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    with _client(launch) as client:
        while not _is_ready(client, launch):
            if server.exit_code is not None:
                server.kill()  # so that its last words have been read
                raise ModelServerError(
                    f"the model server did not start (code {server.exit_code}):"
                    f" {reason(tuple(server.last_lines))}"
                )
            if time.monotonic() > deadline:
                raise ModelServerError(
                    f"the model server was not ready after {timeout_s:g} s: see its log, or allow"
                    " it more with --start-timeout"
                )
            server.wait(_POLL_S)


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
