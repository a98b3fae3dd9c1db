"""The nginx program: found, asked to check a configuration, run in the foreground."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ragkit.errors import ModelError, UsageError
from ragkit_serve.model.gateway.config import CONFIG

_DRAIN_S: Final = 60.0  # arbitrary: what running answers get when the gateway is stopped


def find_nginx() -> Path | None:
    """Find nginx on the PATH, or where Debian keeps it off an ordinary user's."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    return Path(found) if found else None


def check(nginx: Path, folder: Path) -> None:
    """Have nginx read the configuration. Raises UsageError with its first complaint."""
    done = subprocess.run(
        [*_command(nginx, folder), "-t"], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        said = re.findall(r"\[(?:emerg|alert|crit|error)\] (.+)", done.stderr) or [done.stderr]
        raise UsageError(f"nginx refuses the configuration: {said[0].strip()}")


def run(nginx: Path, folder: Path, started: Callable[[], None]) -> None:
    """Run nginx until it ends or this is interrupted; then running answers may finish first.

    Raises ModelError when it ends by itself.
    """
    command = [*_command(nginx, folder), "-g", "daemon off;"]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            started()
            code = process.wait()
        finally:
            _stop(process)
    raise ModelError(f"nginx ended with code {code}: see {folder / 'error.log'}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Let running answers finish, if nginx still runs; a second Ctrl-C cuts them off."""
    if process.poll() is not None:
        return
    try:
        process.send_signal(signal.SIGQUIT)
        process.wait(_DRAIN_S)
    finally:
        process.terminate()


def _command(nginx: Path, folder: Path) -> list[str]:
    return [str(nginx), "-p", str(folder), "-c", str(folder / CONFIG), "-e", "stderr"]
