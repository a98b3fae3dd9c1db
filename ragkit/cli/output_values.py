"""A command's output, piece by piece, as plain values that JSON can carry."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple


class Output(NamedTuple):
    """A piece of text for standard output or standard error, or a value to be printed as JSON."""

    kind: Literal["out", "err", "json"]
    value: Any


def print_outputs(outputs: Iterable[Output]) -> None:
    """Print each output as it comes."""
    for output in outputs:
        if output.kind == "json":
            print_json(output.value)
        else:
            stream = sys.stderr if output.kind == "err" else sys.stdout
            stream.write(output.value)
            stream.flush()


def print_json(value: object) -> None:
    """Print JSON with every character as itself; what the terminal cannot encode is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        sys.stdout.write(f"{text}\n")
    except UnicodeEncodeError:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    sys.stdout.flush()
