"""Get a command's output from a running `ragkit serve` of the same user, whose models are loaded.

The server listens on a socket in a private folder of ragkit's home. Only the user may enter that
folder, and both sides check that the other process is the user's. A server is asked only if it runs
with the same settings, which both sides know by a fingerprint; in every other case the command does
the work itself. Nothing here loads a third-party package, or the settings where no ragkit.toml says
where the home is.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from ragkit import __version__
from ragkit.cli.output_values import Output
from ragkit.errors import RagkitError

COMMANDS: Final = frozenset({"ask", "search"})
FOLDER: Final = "run"
SOCKET: Final = "commands.sock"
MAX_REQUEST_BYTES: Final = 1 << 20  # arbitrary, far above what a command line holds
ACCEPTED: Final = "accepted"
ERROR: Final = "error"
END: Final = "end"
_ACCEPT_S: Final = 2.0  # arbitrary: a server that takes longer is of no help
_PREFIX: Final = "RAGKIT_"
_SERVERS_OWN: Final = "RAGKIT_SERVE_"  # where it listens and how much it takes: no answer's concern
_CREDENTIALS: Final = struct.Struct("3i")  # pid, uid, gid: unix(7), SO_PEERCRED


class ServerEndedError(RagkitError):
    """The running server ended, or failed, in the middle of a command's output."""


class _OutputError(RagkitError):
    """An error of the server's, with the exit code that the command would have had itself."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def output_of_server(arguments: Sequence[str]) -> Iterator[Output] | None:
    """Return a running server's output for a command line, or None.

    None says that the command has to do the work: no server runs, or it declines these arguments.
    The iterator raises RagkitError as the command itself would.
    """
    connection = _connected()
    if connection is None:
        return None
    try:
        connection.sendall(_request(arguments))
        lines = connection.makefile("rb")
        if json.loads(lines.readline() or b"[0]")[0] != ACCEPTED:
            raise ConnectionError
        connection.settimeout(None)
        first = lines.readline()
    except (OSError, ValueError):
        connection.close()
        return None
    if not first:  # it failed before anything was printed
        connection.close()
        return None
    return _outputs(first, lines, connection)


def fingerprint() -> str:
    """Return a hash that is equal in two processes with the same settings and programs.

    Variables count as they are written, and files by their content; a relative path of something
    that exists counts as its absolute one.
    """
    parts = [__version__, sys.prefix, __file__]
    for name, value in sorted(os.environ.items()):
        if _is_setting(name.upper()) and value.strip():
            parts += [name.upper(), _absolute(value.strip())]
            if name.upper().endswith("_FILE"):
                parts.append(_content(value.strip()))
    if _has_file():
        parts += [os.getcwd(), _content("ragkit.toml")]
    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def socket_folder(home: Path) -> Path:
    """Return the private folder of a home that the socket lies in."""
    return home / FOLDER


def socket_path(folder: int, name: str = SOCKET) -> str:
    """Return a path to a socket in an open folder; it is short however long the folder's own is."""
    return f"/proc/self/fd/{folder}/{name}"


def is_private(folder: int) -> bool:
    """Tell whether an open folder is this user's, and nobody else may enter it."""
    status = os.fstat(folder)
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077


def is_own_process(connection: socket.socket) -> bool:
    """Tell whether the process at the other end of a unix socket is this user's."""
    size = _CREDENTIALS.size
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    uid: int = _CREDENTIALS.unpack(credentials)[1]
    return uid == os.geteuid()


def read_arguments(line: bytes, mark: str) -> list[str] | None:
    """Read a request's arguments; None for a process with another fingerprint, or no request."""
    from hmac import compare_digest

    with suppress(ValueError, TypeError, KeyError):
        request = json.loads(line)
        if compare_digest(str(request["fingerprint"]), mark):
            return [str(argument) for argument in request["arguments"]]
    return None


def written_line(kind: str, value: object) -> bytes:
    """Write an output, an error or the end as one line."""
    return json.dumps([kind, value]).encode() + b"\n"


def _request(arguments: Sequence[str]) -> bytes:
    return json.dumps({"fingerprint": fingerprint(), "arguments": arguments}).encode() + b"\n"


def _connected() -> socket.socket | None:
    try:
        folder = os.open(socket_folder(_home()), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (OSError, RagkitError):  # the command says what is wrong with its settings
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if is_private(folder):
            connection.settimeout(_ACCEPT_S)
            connection.connect(socket_path(folder))
            if is_own_process(connection):
                return connection
    except OSError:
        pass  # no server, or one that has ended
    finally:
        os.close(folder)
    connection.close()
    return None


def _outputs(first: bytes, lines: IO[bytes], connection: socket.socket) -> Iterator[Output]:
    with closing(connection), lines:
        line = first
        while line.endswith(b"\n"):
            kind, value = json.loads(line)
            if kind == END:
                return
            if kind == ERROR:
                raise _OutputError(*value)
            yield Output(kind, value)
            try:
                line = lines.readline()
            except OSError:
                break
    raise ServerEndedError("the running ragkit server ended meanwhile: ask again")


def _home() -> Path:
    """Return the home of the settings, which are read only where a file may name it."""
    if _has_file():
        from ragkit.settings.settings import load_settings

        return load_settings().home
    names = {name.upper(): value.strip() for name, value in os.environ.items()}
    if written := names.get(f"{_PREFIX}HOME"):
        return Path.cwd() / os.path.expanduser(written)
    from ragkit.settings.home import default_home

    return default_home()


def _has_file() -> bool:
    return os.path.lexists("ragkit.toml")


def _is_setting(name: str) -> bool:
    """Return whether a variable may change an answer: RAGKIT_*, model folders, keys, proxies."""
    if name.startswith(_PREFIX):
        return not name.startswith(_SERVERS_OWN)
    return name.startswith("HF_") or name.endswith(("_API_KEY", "_PROXY"))


def _absolute(value: str) -> str:
    path = os.path.expanduser(value)
    return os.path.abspath(path) if _exists(path) else value


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a NUL in it
        return False


def _content(path: str) -> str:
    """Return a hash of a file's content; that of a pipe, which is read once, is unique."""
    try:
        file = Path(os.path.expanduser(path))
        if not stat.S_ISREG(file.stat().st_mode):
            return os.urandom(16).hex()
        return sha256(file.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return ""
