"""Servers of models: identify a running server, or start one for a run.

A server is started and ended by the program `ragkit model serve`, as by a user.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from ragkit.errors import ModelError
from ragkit_eval.quant.models import Served, ToServe

_END_S: Final = 60.0  # arbitrary: no answer is running by then, so that it ends at once


@dataclass(frozen=True, slots=True)
class ReadyServer:
    """A server that has answered; `arguments` are those of its start, "" for a running one."""

    url: str
    model: str
    label: str
    api_key: str | None = field(repr=False)
    arguments: str = ""


def identify_server(served: Served, *, api_key: str | None, timeout_s: float) -> ReadyServer:
    """Ask a server for its model if none was named, and derive the label.

    Raises ServerGoneError if it does not answer, NotFoundError if it has no such model.
    """

    async def ask() -> str:
        from ragkit_eval.endpoint import Endpoint

        async with Endpoint.open(
            served.url, served.model or None, api_key=api_key, timeout_s=timeout_s
        ) as endpoint:
            return endpoint.model

    model = asyncio.run(ask())
    return ReadyServer(served.url, model, served.label or model, api_key)


@contextmanager
def serve_model(model: ToServe, *, api_key: str | None) -> Iterator[ReadyServer]:
    """Start a server on a free port, yield it when it is ready, and end it.

    It gets a new key unless RAGKIT_LLM_API_KEY is set. Its output goes to standard error. Raises
    ModelError if it ends before it is ready.
    """
    command = [sys.executable, "-m", "ragkit", "model", "serve", *model.arguments]
    command += ["--port", "0", "--json", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            ready = _read_ready(process)
            if ready is None:
                raise ModelError(
                    f"{model.label} could not be served (exit code {process.wait()}): see above,"
                    f" and try 'ragkit model serve {' '.join(model.arguments)}'"
                )
            key = ready["api_key"] or api_key
            name = str(ready["model"])
            yield ReadyServer(str(ready["url"]), name, model.label, key, " ".join(model.arguments))
        finally:
            _end(process)


def _read_ready(process: subprocess.Popen[str]) -> dict[str, Any] | None:
    """Read the JSON of a ready server; None if the program ends without it."""
    assert process.stdout is not None, "opened as a pipe"
    text = ""
    for line in process.stdout:
        text += line
        if line.startswith("}"):
            read: dict[str, Any] = json.loads(text)
            return read
    return None


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
