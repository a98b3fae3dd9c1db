"""What the events of the page do: each returns a value for every output that it fills.

They translate between Gradio's values and the plain functions of `browse` and `stages`, keep
nothing, and raise RagkitError.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import gradio as gr

from ragkit.errors import NotFoundError
from ragkit.knowledge import PASSAGES
from ragkit.store.browse import Found
from ragkit_serve.ui import browse, stages
from ragkit_serve.ui.turn import name_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ragkit.library import Caller
    from ragkit_serve.services import Services

MAX_SHOWN: Final = 500  # arbitrary: documents of a list
MAX_CHOICES: Final = 1000  # arbitrary: documents to choose among


class Acts:
    """The events of one page, for whoever calls."""

    def __init__(self, services: Services, words: Mapping[str, str]) -> None:
        self._services = services
        self._words = words

    def load(self, caller: Caller) -> tuple[Any, ...]:
        names, chosen = self._collections(caller)
        only, options = self._chosen(caller, chosen)
        return (
            gr.update(choices=names, value=chosen),
            only,
            gr.update(visible=browse.can_write(caller)),
            options,
        )

    def _collections(self, caller: Caller) -> tuple[Sequence[str], str | None]:
        """List a caller's collections, and say which is his before he has chosen one."""
        names = [one.name for one in self._services.library.collections(caller)]
        usual = self._services.settings.collection
        return names, usual if usual in names else next(iter(names), None)

    def choose(
        self, caller: Caller, collection: str, only: Sequence[int], mode: str, passages: int
    ) -> tuple[Any, ...]:
        update, _ = self._chosen(caller, collection)
        return (
            update,
            _settings(collection, [], mode, passages),
            *self.list(caller, collection, ""),
        )

    def options(
        self,
        caller: Caller,
        collection: str | None,
        only: Sequence[int] | None,
        mode: str,
        passages: int,
    ) -> tuple[str]:
        """Write the settings down as they are now chosen."""
        return (_settings(collection, only or [], mode, passages),)

    def _chosen(self, caller: Caller, collection: str | None) -> tuple[Any, str]:
        choices: list[tuple[str, int]] = []
        info = self._words["only_hint"]
        if collection:
            found = browse.documents(self._services, caller, collection, limit=MAX_CHOICES)
            choices = [(name_of(one.title, one.uri), one.id) for one in found.documents]
            if found.all > len(choices):
                shown = browse.counted(found, self._words)
                info = self._words["only_first"].format(shown=shown)
        update = gr.update(choices=choices, value=[], info=info)
        return update, _settings(collection, [], "hybrid", PASSAGES)

    def list(self, caller: Caller, collection: str | None, wanted: str) -> tuple[Any, ...]:
        # A quick hand opens the list before the page has been told its collection.
        collection = collection or self._collections(caller)[1]
        found = Found((), 0, 0)
        if collection:
            found = browse.documents(self._services, caller, collection, wanted, limit=MAX_SHOWN)
        return browse.rows(found, self._words)

    def read(self, caller: Caller, row: Sequence[str]) -> tuple[Any, ...]:
        title, text = browse.text(self._services, caller, _number(str(row[0])), self._words)
        deletable = gr.update(visible=browse.can_write(caller))
        return gr.update(value=text, label=title), str(row[0]), deletable

    def delete(self, caller: Caller, chosen: str, collection: str, wanted: str) -> tuple[Any, ...]:
        said = browse.delete(self._services, caller, _number(chosen), self._words)
        table, shown = self.list(caller, collection, wanted)
        cleared = gr.update(value="", label=self._words["document_text"])
        return table, f"{said} {shown}", cleared, gr.update(visible=False)

    def upload(
        self, caller: Caller, paths: Sequence[str] | None, collection: str | None, kept: str
    ) -> tuple[Any, ...]:
        added = browse.upload(self._services, caller, collection, paths or [], self._words)
        files = _files(kept) + added
        rows, _ = browse.progress(self._services, caller, files, self._words)
        table = gr.update(value=rows, visible=True)
        return None, json.dumps(asdict(files)), table, gr.Timer(active=True)

    def progress(
        self, caller: Caller, kept: str, collection: str | None, wanted: str
    ) -> tuple[Any, ...]:
        rows, going = browse.progress(self._services, caller, _files(kept), self._words)
        table, shown = self.list(caller, collection, wanted)
        return rows, gr.Timer(active=going), table, shown

    def find(
        self,
        caller: Caller,
        query: str,
        collection: str,
        only: Sequence[int],
        mode: Any,
        passages: int,
    ) -> tuple[Any, ...]:
        return stages.search(
            self._services,
            caller,
            query,
            collection=collection,
            documents=only or [],
            mode=mode,
            k=int(passages),
            words=self._words,
        )


def _settings(collection: str | None, only: Sequence[int], mode: str, passages: int) -> str:
    """Write the settings as the page's script sends them with a question."""
    chosen = {"collection": collection, "documents": list(only)}
    return json.dumps(chosen | {"mode": mode, "passages": int(passages)})


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NotFoundError(f"There is no document {text[:40]!r}.")
    return int(text)


def _files(kept: str) -> browse.Files:
    """Read what the page remembers of its files; what is no such thing is nothing."""
    try:
        told = json.loads(kept or "{}")
        jobs = tuple(int(one) for one in told.get("jobs", ()))
        refused = tuple((str(name), str(why)) for name, why in told.get("refused", ()))
    except (ValueError, TypeError, AttributeError):
        return browse.Files()
    return browse.Files() + browse.Files(jobs, refused)
