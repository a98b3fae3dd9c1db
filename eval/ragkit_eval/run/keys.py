"""The key of an item's outcome: a hash of all that could change it.

Equal keys mean that one outcome can stand for the other, also in another run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from ragkit_eval.item import Item, Task
from ragkit_eval.record import Header

KeyOf = Callable[[Task, Item], str]


def key_maker(header: Header) -> KeyOf:
    """Return what makes keys of 32 hex digits for items of this run.

    They cover the model with its revision and server arguments, the sampling with its seed, the
    task's name, version and method, and of the item the prompt, the choices, the right answers and
    what its scorer reads: not its id, its group, nor its place.
    """
    common = {name: value for name, value in header.sampling.items() if name != "tasks"}
    begun: dict[str, Any] = {}

    def key_of(task: Task, item: Item) -> str:
        if task.name not in begun:
            own = header.sampling.get("tasks", {}).get(task.name, dict(task.sampling))
            about = [task.name, task.version, task.method]
            begun[task.name] = hashlib.sha256(_bytes([header.model, common, own, about]))
        digest = begun[task.name].copy()
        extra = dict(item.extra)
        digest.update(_bytes([item.prompt, item.choices, item.labels, item.targets, extra]))
        return str(digest.hexdigest()[:32])

    return key_of


def _bytes(value: object) -> bytes:
    # ASCII, so that any text has bytes; `default` for paths and the like in a model's description.
    return json.dumps(value, sort_keys=True, default=str).encode("ascii")
