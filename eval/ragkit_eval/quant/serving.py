"""Servers at hand: those that run are asked who they are, others are started for a while.

A server is started by the program `ragkit model serve`, as a user would, and ended with it.
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

_END_S: Final = 60.0  # arbitrary: running answers have come by then, so that it ends at once


@dataclass(frozen=True, slots=True)
class AtHand:
    """A server that has answered; `arguments` are what it was started with, "" if not by us."""

    url: str
    model: str
    label: str
    api_key: str | None = field(repr=False)
    arguments: str = ""


def introduced(served: Served, *, api_key: str | None, timeout_s: float) -> AtHand:
    """Ask a server who it is: its model where none was named, and so a label.

    Raises ServerGoneError when it does not answer, NotFoundError when it has no such model.
    """

    async def ask() -> str:
        from ragkit_eval.endpoint import Endpoint

        async with Endpoint.open(
            served.url, served.model or None, api_key=api_key, timeout_s=timeout_s
        ) as endpoint:
            return endpoint.model

    model = asyncio.run(ask())
    return AtHand(served.url, model, served.label or model, api_key)


@contextmanager
def started(wanted: ToServe, *, api_key: str | None) -> Iterator[AtHand]:
    """Start a server on a port that is free, yield it once it is ready, and end it.

    Its key is a new one, unless RAGKIT_LLM_API_KEY is set. What it says goes to standard error.
    Raises ModelError when it ends before it is ready.
    """
    command = [sys.executable, "-m", "ragkit", "model", "serve", *wanted.arguments]
    command += ["--port", "0", "--json", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            told = _told(process)
            if told is None:
                raise ModelError(
                    f"{wanted.label} could not be served (exit code {process.wait()}): see above,"
                    f" and try 'ragkit model serve {' '.join(wanted.arguments)}'"
                )
            key = told["api_key"] or api_key
            name = str(told["model"])
            yield AtHand(str(told["url"]), name, wanted.label, key, " ".join(wanted.arguments))
        finally:
            _end(process)


def _told(process: subprocess.Popen[str]) -> dict[str, Any] | None:
    """Read the JSON that says it is ready; None when the program ends without."""
    assert process.stdout is not None, "it was asked for"
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
