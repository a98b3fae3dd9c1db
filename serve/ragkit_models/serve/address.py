"""Check the address of a model server before minutes are spent on loading a model."""

from __future__ import annotations

import socket
from pathlib import Path

from ragkit.errors import UsageError
from ragkit.settings.hosts import is_loopback


def require_local(host: str, *, allow_remote: bool) -> None:
    """Raise UsageError for an address that others can reach, unless that is allowed."""
    if not is_loopback(host) and not allow_remote:
        raise UsageError(
            f"{host} can be reached by others, and vLLM answers several routes without its key: put"
            " nginx in front (docs/howto/several-machines.md), or insist with --allow-remote"
        )


def free_port(host: str) -> int:
    """Choose a free port."""
    with socket.socket(_family(host)) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def require_free_port(host: str, port: int) -> None:
    """Raise UsageError when a port is taken: two servers of one user would share it."""
    with socket.socket(_family(host)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UsageError(
                f"{host}:{port} cannot be used ({error.strerror}): choose another --port"
            ) from error


def require_free_path(path: Path) -> None:
    """Raise UsageError when no socket can be made at `path`; remove a dead server's socket."""
    if len(bytes(path)) > 107:  # sun_path of Linux
        raise UsageError(f"{path} is too long for a unix socket: at most 107 bytes")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent} for the socket: make it first")
    if path.exists() and not path.is_socket():
        raise UsageError(f"{path} exists and is no socket: choose another path")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            path.unlink()  # of a server that has ended
            return
        except OSError as error:
            raise UsageError(f"{path} cannot be used ({error.strerror}): choose another") from error
    raise UsageError(f"another server listens at {path}: stop it, or choose another path")


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
