"""Draw a page of a PDF in a process of its own, with limits on memory, CPU and wall time.

What comes back is checked before use: a process that has read a hostile file is not to be believed.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from typing import IO, TYPE_CHECKING, Any, Final

from ragkit.errors import NotFoundError
from ragkit.system import child_process
from ragkit_serve.api.errors import RETRY_AFTER_S, ApiError
from ragkit_serve.original.page import MAX_MARKS, Box
from ragkit_serve.original.png import SIGNATURE
from ragkit_serve.original.worker import FRAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragkit_serve.original.quote_matching import Quote

COMMAND: Final = (sys.executable, "-P", "-m", "ragkit_serve.original.worker")
# What Python and its libraries need to start; nothing else of the server's environment, in which
# there may be passwords, is for a process that reads strangers' files.
_ENVIRONMENT: Final = ("PATH", "PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
_MAX_FIELDS_BYTES: Final = 1 << 20
_MAX_PICTURE_BYTES: Final = 32 << 20  # more than 3 million pixels in three colours can have
_MALFORMED: Final = (ValueError, TypeError, KeyError, RecursionError)


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What drawing a page may use; arbitrary, far above what ordinary pages need.

    `at_once` processes run together, and who has waited `wait_s` for a place is sent away.
    """

    memory_mb: int = 1024
    cpu_s: int = 10
    wall_s: float = 15.0
    at_once: int = 4
    wait_s: float = 5.0


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A page of a PDF of so many: its size in points, the marked boxes, and its picture, a PNG.

    Boxes are (left, top, right, bottom) in shares of the page.
    """

    pages: int
    width: float
    height: float
    marks: tuple[Box, ...]
    picture: bytes


class PageRenderer:
    """Draws pages; used by several threads at once. `command` is the program to run."""

    def __init__(
        self, limits: PageLimits | None = None, *, command: Sequence[str] = COMMAND
    ) -> None:
        self._limits = limits or PageLimits()
        self._command = command
        self._places = threading.BoundedSemaphore(self._limits.at_once)

    def draw(
        self, data: bytes, page: int, *, quotes: Sequence[Quote] = (), picture: bool = True
    ) -> DrawnPage:
        """Draw a page of a PDF, without a picture only its size and marks.

        Raises NotFoundError for a page that is not there or cannot be drawn, ApiError 503 where no
        place becomes free.
        """
        drawing = {"page": page, "draw": picture, "quotes": [astuple(quote) for quote in quotes]}
        with self._place(), _Process(self._command, self._limits) as process:
            return process.ask(drawing, data)

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(timeout=self._limits.wait_s):
            raise ApiError(
                503,
                f"too many pages are being drawn at the moment: ask again in {RETRY_AFTER_S} s",
                code="overload",
                retry_after_s=RETRY_AFTER_S,
            )
        try:
            yield
        finally:
            self._places.release()


class _Process:
    """One process for one page."""

    def __init__(self, command: Sequence[str], limits: PageLimits) -> None:
        self._limits = limits
        self._timed_out = False
        self._child = child_process.start(
            [*command, str(limits.memory_mb), str(limits.cpu_s)],
            environment={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
        self._clock = threading.Timer(limits.wall_s, self._time_out)

    def __enter__(self) -> _Process:
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._clock.cancel()
        child_process.end(self._child)

    def ask(self, drawing: dict[str, Any], data: bytes) -> DrawnPage:
        """Send the file and read the answer. Raises NotFoundError where there is none of use."""
        requests, answers = self._child.stdin, self._child.stdout
        assert requests is not None
        assert answers is not None
        body = json.dumps(drawing).encode()
        with suppress(BrokenPipeError):  # why it ended is told below
            requests.write(FRAME.pack(len(body)) + body)
            requests.write(data)
            requests.close()
        try:
            fields, picture = _read(answers)
            if error := fields.get("error"):
                raise _cannot(drawing["page"], self._reason(str(error), fields))
            return _checked(fields, picture, wanted=drawing["draw"])
        except EOFError:
            raise _cannot(drawing["page"], self._obituary()) from None
        except _MALFORMED as error:
            raise _cannot(drawing["page"], "its file is damaged") from error

    def _reason(self, error: str, fields: dict[str, Any]) -> str:
        if error == "page":
            return f"the file has {int(fields['pages'])} pages"
        if error == "memory":
            return f"it takes more than {self._limits.memory_mb} MB of memory"
        return "its file is damaged"

    def _obituary(self) -> str:
        code = self._child.wait()
        if self._timed_out or code == -signal.SIGXCPU:
            return "it takes too long to draw"
        return "its file is damaged"

    def _time_out(self) -> None:
        self._timed_out = True
        child_process.kill(self._child)


def _read(answers: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Read an answer of a bounded size. Raises EOFError where there is none."""
    head = answers.read(FRAME.size)
    if len(head) < FRAME.size:
        raise EOFError
    (size,) = FRAME.unpack(head)
    if size > _MAX_FIELDS_BYTES:
        raise ValueError("an answer larger than any honest one")
    body = answers.read(size)
    if len(body) < size:
        raise EOFError
    fields = json.loads(body)
    if not isinstance(fields, dict):
        raise TypeError("an answer that is no object")
    picture = answers.read(_MAX_PICTURE_BYTES + 1)
    if len(picture) > _MAX_PICTURE_BYTES:
        raise ValueError("a picture larger than any honest one")
    return fields, picture


def _checked(fields: dict[str, Any], picture: bytes, *, wanted: bool) -> DrawnPage:
    """Make a page of an answer. Raises ValueError, TypeError or KeyError for a malformed one."""
    width, height = map(float, fields["size"])
    boxes = fields["marks"][:MAX_MARKS]
    marks = tuple(_box(*map(float, box)) for box in boxes)
    if not (math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0):
        raise ValueError("a page without a size")
    if wanted != picture.startswith(SIGNATURE):
        raise ValueError("no picture, or one that was not asked for")
    return DrawnPage(int(fields["pages"]), width, height, marks, picture)


def _box(left: float, top: float, right: float, bottom: float) -> Box:
    if not (0 <= left <= right <= 1 and 0 <= top <= bottom <= 1):
        raise ValueError("a box outside the page")
    return left, top, right, bottom


def _cannot(page: int, reason: str) -> NotFoundError:
    return NotFoundError(f"Page {page} of the original cannot be shown: {reason}.")
