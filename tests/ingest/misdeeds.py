"""What a parser may do wrong, by name, for parser processes that do it on request."""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from ragkit.types import Block, ParsedText


def _spin() -> None:
    while True:
        pass


def _sleep() -> None:
    time.sleep(3600)


def _eat() -> ParsedText:
    return ParsedText("x" * (1 << 40))


def _bug() -> None:
    raise KeyError("styles")


def _print() -> None:
    print("not part of the protocol", flush=True)
    os.write(1, b"\xff" * 4096)


def _lie() -> ParsedText:
    return ParsedText("short", (Block(0, 99, "paragraph"),))


def _fork() -> None:
    if os.fork() == 0:
        _sleep()
    os._exit(3)  # what it started holds the pipe open


def _close() -> None:
    os.closerange(3, 64)
    _sleep()


def _garbage() -> None:
    for descriptor in range(1, 64):
        with suppress(OSError):
            os.write(descriptor, b"\xff" * 64)
    _sleep()


MISDEEDS: Final[Mapping[str, Callable[[], ParsedText | object]]] = {
    "segv": lambda: ctypes.string_at(0),
    "abort": os.abort,
    "hang": _sleep,
    "spin": _spin,
    "eat": _eat,
    "exit": lambda: os._exit(3),
    "bug": _bug,
    "print": _print,
    "liar": _lie,
    "dead": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "fork": _fork,
    "closes": _close,
    "garbage": _garbage,
}
