"""Make the output of `ragkit ask` and `ragkit search` for commands of the user who runs the server.

The commands come over a unix socket in a private folder of ragkit's home
(`ragkit.cli.local_server`). They have the authority that they would have without a server: their
user's own, whatever keys there are. A command that is not answered at once does its work itself,
so nothing here waits for long.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import ExitStack, aclosing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from ragkit.cli import arguments as command_arguments
from ragkit.cli.local_server import (
    ACCEPTED,
    END,
    ERROR,
    MAX_REQUEST_BYTES,
    SOCKET,
    is_own_process,
    is_private,
    read_arguments,
    socket_folder,
    socket_path,
    written_line,
)
from ragkit.cli.output import AskRequest, Request
from ragkit.cli.output_values import Output
from ragkit.errors import RagkitError
from ragkit.settings.home import make_home
from ragkit.system.private_files import make_private
from ragkit_serve.api import audit
from ragkit_serve.api.pump import pumped

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_serve.api.state import State

log = logging.getLogger("ragkit.serve")
REQUEST_S: Final = 5.0  # arbitrary: for a request to arrive after its connection
SLOWEST_READ_S: Final = 30.0  # arbitrary: how long a command may leave its buffer full


@contextmanager
def command_socket(settings: Settings) -> Iterator[socket.socket | None]:
    """Bind the socket that commands look for; the newest server's takes the place of others.

    It is None where that cannot be done, which is logged: commands then work by themselves.
    """
    folder = socket_folder(settings.home)
    with ExitStack() as opened:
        bound = None
        try:
            make_home(settings.home)
            make_private(folder)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            opened.callback(os.close, descriptor)
            if not is_private(descriptor):
                raise PermissionError(None, "it is not this user's alone")
            bound = opened.enter_context(_bound(descriptor))
        except OSError as error:  # also where a file system has no sockets
            log.warning("commands cannot use this server: %s: %s", folder, error.strerror)
        yield bound


class Commands:
    """Answers commands that come over a bound socket and have this process's fingerprint."""

    def __init__(self, bound: socket.socket, mark: str) -> None:
        self._bound = bound
        self._fingerprint = mark
        self._server: asyncio.Server | None = None

    async def start(self, state: State) -> None:
        """Listen, in the event loop of the server that has this state."""
        self._state = state
        # The first command should not wait for its parser to be made.
        await asyncio.to_thread(command_arguments.read_arguments, ["ask", "-"])
        self._server = await asyncio.start_unix_server(
            self._connected, sock=self._bound, limit=MAX_REQUEST_BYTES
        )

    def close(self) -> None:
        """Take no more commands; those that are being answered go on."""
        if self._server is not None:
            self._server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if is_own_process(writer.get_extra_info("socket")):
                await self._answer(reader, writer)
        except (OSError, ValueError, TimeoutError):
            pass  # the command has ended, or sent what is no request
        except RagkitError:
            pass  # there is no place: the command does its work itself
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(REQUEST_S):
            arguments = read_arguments(await reader.readline(), self._fingerprint)
        if arguments is None:
            return
        request = await asyncio.to_thread(command_arguments.read_arguments, arguments)
        if request is None:
            return
        caller = self._state.keyring.owner
        async with self._state.admission.place(caller) as place:
            self._note(request)
            writer.write(written_line(ACCEPTED, None))
            output = pumped(lambda: self._output(request), place)
            sending = asyncio.ensure_future(_send(output, writer))
            gone = asyncio.ensure_future(reader.read(1))
            ended = asyncio.ensure_future(self._state.admission.ended.wait())
            try:
                await asyncio.wait({sending, gone, ended}, return_when=asyncio.FIRST_COMPLETED)
                if sending.done():
                    sending.result()
            finally:
                for task in (sending, gone, ended):
                    task.cancel()
                await asyncio.wait({sending, gone, ended}, timeout=1.0)

    def _output(self, request: Request) -> Iterator[Output]:
        services = self._state.services
        kb = services.library.open(self._state.keyring.owner, request.collection)
        return request.output(kb)

    def _note(self, request: Request) -> None:
        is_question = isinstance(request, AskRequest)
        audit.note(
            self._state,
            {},
            self._state.keyring.owner,
            "ask" if is_question else "search",
            collection=request.collection or self._state.services.settings.collection,
            text=request.question if isinstance(request, AskRequest) else request.query,
        )


@contextmanager
def _bound(folder: int) -> Iterator[socket.socket]:
    """Bind a socket under a name of its own, and move it to the name that commands look for."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    name = f"{os.getpid()}.sock"
    with bound:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        bound.bind(socket_path(folder, name))
        os.chmod(name, 0o600, dir_fd=folder)
        inode = os.stat(name, dir_fd=folder).st_ino
        os.rename(name, SOCKET, src_dir_fd=folder, dst_dir_fd=folder)
        bound.set_inheritable(True)
        try:
            yield bound
        finally:
            with suppress(FileNotFoundError):
                if os.stat(SOCKET, dir_fd=folder).st_ino == inode:
                    os.unlink(SOCKET, dir_fd=folder)


async def _send(
    output: AsyncGenerator[Sequence[Output], None], writer: asyncio.StreamWriter
) -> None:
    """Send outputs as they come, and then an error or the end."""
    last = written_line(END, None)
    try:
        async with aclosing(output):
            async for batch in output:
                await _written(writer, b"".join(written_line(*piece) for piece in batch))
    except RagkitError as error:
        last = written_line(ERROR, [str(error), error.exit_code])
    await _written(writer, last)


async def _written(writer: asyncio.StreamWriter, lines: bytes) -> None:
    writer.write(lines)
    async with asyncio.timeout(SLOWEST_READ_S):
        await writer.drain()
