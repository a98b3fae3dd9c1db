"""The meaning of a model server's HTTP status: whose fault it is, and whether a retry may help."""

from __future__ import annotations

from typing import Final, Literal

Meaning = Literal["denied", "no path", "no method", "rejected", "busy", "transient", "other"]

# "rejected" is the request's fault, whichever server it is sent to; "busy" and "transient" may
# pass. Sources: RFC 9110, 15.5 and 15.6; 422 is vLLM's and FastAPI's for an invalid body.
_MEANINGS: Final[dict[int, Meaning]] = {
    400: "rejected",
    401: "denied",
    403: "denied",
    404: "no path",
    405: "no method",
    408: "transient",
    409: "transient",
    413: "rejected",
    422: "rejected",
    425: "transient",
    429: "busy",
    501: "no method",
    503: "busy",
}


def status_meaning(status: int) -> Meaning:
    """Return the meaning of a status that is no success.

    >>> status_meaning(429), status_meaning(502), status_meaning(302)
    ('busy', 'transient', 'other')
    """
    return _MEANINGS.get(status, "transient" if status >= 500 else "other")


def is_busy(status: int) -> bool:
    """Return whether the server takes no more requests now; it may say when it will."""
    return status_meaning(status) == "busy"


def may_pass(status: int) -> bool:
    """Return whether the same request may succeed later at the same server."""
    return status_meaning(status) in {"busy", "transient"}
