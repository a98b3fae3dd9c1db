"""End a process within two seconds of SIGTERM or Ctrl-C, whatever its threads are doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

END_S: Final = 2.0  # from the signal to the end of the process
_CLEAN_UP_S: Final = 1.8  # of these, for the process to end by itself
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def exit_after(seconds: float, code: int, message: str = "") -> None:
    """Exit with a code and a message once the time is over, unless the process has ended before.

    Threads that still run are not waited for, and nothing more is cleaned up.
    """

    def end() -> None:
        with suppress(OSError):
            os.write(2, message.encode())
        os._exit(code)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


@contextmanager
def bounded_ending(message: str, code: int | None = None) -> Iterator[None]:
    """Raise SystemExit in the main thread on SIGTERM, KeyboardInterrupt on Ctrl-C, and see to it
    that the process then ends within END_S.

    The exit code is 143 after SIGTERM and 130 after Ctrl-C; a `code` stands for both, and makes
    both raise SystemExit. Further signals are ignored. After `_CLEAN_UP_S` another thread writes
    the message to standard error and exits. Where no Python code can run, because a call in C holds
    the interpreter's lock, a guard process ends it by SIGKILL. Needs the main thread.
    """

    ending = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ending
        ending = True
        for signal_number in _SIGNALS:
            signal.signal(signal_number, signal.SIG_IGN)
        last = 128 + number if code is None else code
        exit_after(_CLEAN_UP_S, last, f"{message}\n")
        if code is None and number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(last)

    guard = _Guard()
    previous = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        if not ending:
            for number, handler in previous.items():
                signal.signal(number, handler)
            guard.close()


class _Guard:
    """A process that kills this one END_S after a signal, and ends with it.

    It is told of a signal through the pipe that Python's signal handler writes to in C, which
    works while no Python code can run.
    """

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        script = Path(__file__).with_name("ending_guard.py")
        command = [
            sys.executable,
            "-I",
            "-S",
            str(script),
            str(reading),
            str(os.getpid()),
            str(END_S),
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, pass_fds=[reading], start_new_session=True
        )
        os.close(reading)
        self._before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)

    def close(self) -> None:
        """Dismiss the guard and wait for its end."""
        signal.set_wakeup_fd(self._before)
        os.close(self._writing)
        self._process.wait()
