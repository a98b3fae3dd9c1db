"""The `ragkit` command as users type it, run in the test's own process.

A process of its own costs two to four seconds of imports. Tests whose subject is the process itself
(signals, a terminal, the environment at the start) start one.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ragkit.cli.main import main
from ragkit.settings import settings
from ragkit.system import priority


@dataclass(frozen=True)
class Result:
    """What a command printed and its exit code."""

    stdout: str
    stderr: str
    returncode: int


class Commands:
    """Run ragkit on one database, from one folder."""

    def __init__(self, database: str, folder: Path) -> None:
        self.environment = {"RAGKIT_DATABASE_URL": database}
        self.folder = folder

    def __call__(
        self, *arguments: str, code: int = 0, stdin: str = "", **environment: str
    ) -> Result:
        result = run(
            *arguments, stdin=stdin, folder=self.folder, environment=self.environment | environment
        )
        assert result.returncode == code, (result.stdout, result.stderr)
        return result

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def error(self, *arguments: str, code: int, **environment: str) -> str:
        """Return the one line that a mistake is answered with."""
        result = self(*arguments, code=code, **environment)
        assert result.stdout == ""
        (line,) = result.stderr.splitlines()
        return line


@cache
def _default_tokenizer() -> object:
    """Keep the default model's tokenizer in use: what takes most of its loading is shared then."""
    from ragkit.embed.find import default_model, find_model
    from ragkit.embed.tokenizer import load_tokenizers

    return load_tokenizers(find_model(default_model()).folder)


def run(
    *arguments: str,
    stdin: str = "",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Result:
    """Run one command with no RAGKIT_ variables but the given ones.

    An exception that would end the process with a traceback is raised.
    """
    ours: dict[str, str | None] = {name: None for name in os.environ if name.startswith("RAGKIT_")}
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    log = logging.getLogger()
    log_handlers, log_level = log.handlers[:], log.level
    code: object = 0
    with (
        pytest.MonkeyPatch.context() as patch,
        chdir(folder or Path.cwd()),
        CliRunner().isolation(stdin, ours | dict(environment or {})) as streams,
    ):
        patch.setattr(sys, "argv", ["ragkit", *arguments])
        patch.setattr(settings, "_noticed", set())  # each command is as a process of its own
        patch.setattr(priority, "give_way", lambda: None)  # this process could not take it back
        try:
            main()
        except SystemExit as exit:
            code = exit.code
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            log.handlers[:] = log_handlers
            log.setLevel(log_level)
        sys.stdout.flush()
        sys.stderr.flush()
        stdout, stderr = (stream.getvalue().decode() for stream in streams[:2])
    assert isinstance(code, int), code
    if "ragkit.embed.local" in sys.modules:
        _default_tokenizer()
    return Result(stdout, stderr, code)
