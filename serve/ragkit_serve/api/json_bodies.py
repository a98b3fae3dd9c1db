"""JSON bodies read strictly, once for every route, before anything works with them.

Python reads more than JSON has: NaN, numbers beyond what a float holds, half a surrogate pair. What
a field means is decided at its route.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

from starlette.exceptions import HTTPException

from ragkit_serve.api.bodies import SMALL_PATHS
from ragkit_serve.api.errors import ApiError, answer, of_http
from ragkit_serve.api.event_stream import ClientGoneError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_DEPTH: Final = 100  # arbitrary; Python's own limit depends on where it is called from
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class JsonBodies:
    """ASGI middleware: answer 400 to a body that is sent as JSON and is none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _says_json(scope):
            await self._app(scope, receive, send)
            return
        try:
            content = await _read(receive)
            if content:
                check_json(content)
        except ApiError as error:
            await answer(error)(scope, receive, send)
        except HTTPException as error:  # of the bounds on bodies
            await answer(of_http(error))(scope, receive, send)
        else:
            await self._app(scope, _replayed(content, receive), send)


def check_json(content: bytes) -> None:
    """Raise ApiError 400 unless the bytes are JSON that every program reads alike."""
    try:
        value = json.loads(
            content.decode("utf-8"),
            parse_constant=_no_number,
            parse_float=_finite,
            object_pairs_hook=_once,
        )
        if content.count(b"[") + content.count(b"{") > MAX_DEPTH:
            _check_depth(value)
        if _SURROGATE.search(content):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise _refused(f"the body is no JSON: no UTF-8 from byte {error.start} on") from None
    except UnicodeEncodeError:
        raise _refused("the body has half of a surrogate pair: send whole characters") from None
    except json.JSONDecodeError as error:
        raise _refused(f"the body is no JSON from character {error.pos} on") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:  # Python reads integers of up to 4,300 digits
        raise _refused("the body has a number of too many digits") from None


def _says_json(scope: Scope) -> bool:
    if scope["path"] in SMALL_PATHS:  # no route of these takes JSON, and each says so itself
        return False
    kind = dict(scope["headers"]).get(b"content-type", b"").partition(b";")[0].strip().lower()
    return bool(kind == b"application/json" or kind.endswith(b"+json"))


async def _read(receive: Receive) -> bytes:
    """Read a whole body, whose size is bounded further out."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


def _replayed(content: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body once, and then what comes after it."""
    bodies: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def replay() -> Message:
        return bodies.pop() if bodies else await receive()

    return replay


def _no_number(name: str) -> NoReturn:
    raise _refused(f"{name} is no JSON: send a number or null")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _refused("the body has a number that is too large")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; of a name that comes twice, programs on the way may read either value."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _refused("an object of the body has the same name twice: send it once")
    return members


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> ApiError:
    return _refused(f"the body is nested more than {MAX_DEPTH} deep")


def _refused(message: str) -> ApiError:
    return ApiError(400, message, code="json_invalid")
