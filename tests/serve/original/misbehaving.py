"""Programs in the place of the one that draws pages, each wrong in its way."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from ragkit_serve.original.worker import FRAME

PAGE: Final[dict[str, Any]] = {"pages": 1, "size": [612, 792], "marks": []}


def tell(fields: object, picture: bytes = b"") -> None:
    body = json.dumps(fields).encode()
    sys.stdout.buffer.write(FRAME.pack(len(body)) + body + picture)


def fill() -> None:
    tell(PAGE, b"\x89PNG\r\n\x1a\n")
    while True:
        sys.stdout.buffer.write(b"\0" * (1 << 20))


def hang() -> None:
    while True:
        time.sleep(60)


WAYS: Final[Mapping[str, Callable[[], object]]] = {
    "hang": hang,
    "fill": fill,
    "die": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "say nothing": lambda: None,
    "no json": lambda: sys.stdout.buffer.write(FRAME.pack(4) + b"\xff\xfe{}"),
    "huge head": lambda: sys.stdout.buffer.write(FRAME.pack(1 << 60)),
    "a list": lambda: tell([1, 2]),
    "no size": lambda: tell({"pages": 1, "marks": []}),
    "nan": lambda: tell({**PAGE, "size": [float("nan"), 1]}),
    "box outside": lambda: tell({**PAGE, "marks": [[0, 0, 2, 1]]}),
    "box of words": lambda: tell({**PAGE, "marks": [["a", 0, 1, 1]]}),
    "no picture": lambda: tell(PAGE),
    "script": lambda: tell(PAGE, b"<svg onload='alert(1)'>"),
    "environment": lambda: tell({"error": "page", "pages": len(set(os.environ) - {"LC_CTYPE"})}),
}
