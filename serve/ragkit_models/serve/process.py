"""Run a model server once, in its own process group, and read its log line by line.

No process of the group outlives ragkit: ragkit ends the group when it exits, and the kernel ends
the server when ragkit is killed.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from ragkit.errors import ModelError
from ragkit.text.printable import printable
from ragkit_models.serve.options import Launch

LAST_LINES: Final = 400  # of the log, to find the reason of a crash in
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SECRETS: Final = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")  # besides the key; some logs hold them


class ServerProcess:
    """A started server; a thread passes each line of its log, without secrets, to `on_line`."""

    def __init__(self, launch: Launch, on_line: Callable[[str], None]) -> None:
        self._launch = launch
        self._on_line = on_line
        values = [launch.key, *(launch.environment.get(name, "") for name in _SECRETS)]
        self._secrets = [value for value in values if value]
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        try:
            self._process = subprocess.Popen(
                launch.argv,
                env=dict(launch.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",  # and \r ends a line, as progress bars write it
                start_new_session=True,  # Ctrl-C is ragkit's to handle
                # Safe with threads: the library is loaded, and the child makes one call.
                preexec_fn=_end_with_parent,  # noqa: PLW1509
            )
        except OSError as error:
            raise ModelError(f"{launch.argv[0]} cannot be started: {error.strerror}") from error
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Return the id of the server's process, which is that of its group, too."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Return the server's exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> int | None:
        """Wait for the server's end, at most `timeout_s`, and return `exit_code`."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        return self.exit_code

    def stop(self, grace_s: float) -> None:
        """End the server, letting running answers finish for `grace_s`, then end the whole group.

        Only the server's own process gets the first signal: vLLM's engine would drop its answers.
        """
        try:
            if self.exit_code is None:
                self._process.terminate()
                self.wait(grace_s)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the group at once, including processes that outlived the server."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._launch.cleanup:
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(self._launch.cleanup, capture_output=True, timeout=60, check=False)
        self._reader.join(5)  # another process may have inherited the pipe

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            line = printable(_COLOUR.sub("", self._masked(text)).rstrip())
            if line:
                self.last_lines.append(line)
                self._on_line(line)

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _end_with_parent() -> None:
    """Let the kernel send SIGTERM to the server when ragkit's process ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
