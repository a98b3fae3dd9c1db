"""Who did what with which collection: one log line each, with texts only where they are wanted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ragkit_serve.api.observe import REQUEST_ID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import Scope

    from ragkit.access.library import Caller
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
    document: int | None = None,
    text: str = "",
) -> None:
    """Write down that a caller does something with a collection, a document or the served model."""
    level = state.services.settings.serve_audit
    if level == "off":
        return
    fields = {
        "request": scope.get(REQUEST_ID),
        "action": action,
        "tenant": caller.tenant,
        "principal": caller.principal,
        "key": caller.key,
        "collection": collection,
        "model": model,
        **({} if document is None else {"document": document}),
        **({"text": text} if level == "texts" else {}),
    }
    log.info("audit", extra={"fields": fields})


class Chat:
    """The lines of one chat: its question and, where texts are wanted, its answers."""

    def __init__(self, state: State, scope: Scope, caller: Caller) -> None:
        self.wants_texts = state.services.settings.serve_audit == "texts"
        self._state, self._scope, self._caller = state, scope, caller
        self._collection: str | None = None
        self._model: str | None = None

    def question(
        self, text: str, *, collection: str | None = None, model: str | None = None
    ) -> None:
        """Write down that a collection or the served model is asked."""
        self._collection, self._model = collection, model
        self._note("chat", text)

    def answers(self, texts: Iterable[str]) -> None:
        """Write down the text of each choice; of a stream that ended early, what was sent."""
        if self.wants_texts:
            for text in texts:
                self._note("answer", text)

    def _note(self, action: str, text: str) -> None:
        note(
            *(self._state, self._scope, self._caller, action),
            collection=self._collection,
            model=self._model,
            text=text,
        )
