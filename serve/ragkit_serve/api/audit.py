"""Who asked what of which collection: one log line each, with texts only where they are wanted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ragkit_serve.api.observe import REQUEST_ID

if TYPE_CHECKING:
    from starlette.types import Scope

    from ragkit.library import Caller
    from ragkit_serve.api.state import State

log = logging.getLogger("ragkit.audit")


def note(
    state: State,
    scope: Scope,
    caller: Caller,
    action: str,
    *,
    collection: str | None = None,
    model: str | None = None,
    text: str = "",
) -> None:
    """Write down that a caller does something with a collection or the served model."""
    wanted = state.services.settings.serve_audit
    if wanted == "off":
        return
    fields = {
        "request": scope.get(REQUEST_ID),
        "action": action,
        "tenant": caller.tenant,
        "principal": caller.principal,
        "key": caller.key,
        "collection": collection,
        "model": model,
        **({"text": text} if wanted == "texts" else {}),
    }
    log.info("audit", extra={"fields": fields})
