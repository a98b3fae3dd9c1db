"""Compute the key of an item's outcome: a hash of everything that the outcome depends on.

Outcomes of equal keys are interchangeable, also between runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from ragkit_eval.run.item import Item, Task
from ragkit_eval.run.record import Header

KeyOf = Callable[[Task, Item], str]


def key_maker(header: Header) -> KeyOf:
    """Return a function that makes keys of 32 hex digits for items of this run.

    A key covers the model with its revision and server arguments, the sampling with its seed, the
    task's name, version and method, and the item's prompt, later turns, choices, right answers and
    `extra`; it does not cover the item's id, group and position.
    """
    common = {name: value for name, value in header.sampling.items() if name != "tasks"}
    prefixes: dict[str, Any] = {}

    def key_of(task: Task, item: Item) -> str:
        if task.name not in prefixes:
            sampling = header.sampling.get("tasks", {}).get(task.name, dict(task.sampling))
            identity = [task.name, task.version, task.method]
            prefixes[task.name] = hashlib.sha256(_bytes([header.model, common, sampling, identity]))
        digest = prefixes[task.name].copy()
        extra = dict(item.extra)
        asked: list[object] = [item.prompt, item.choices, item.labels, item.targets, extra]
        digest.update(_bytes([*asked, item.turns] if item.turns else asked))
        return str(digest.hexdigest()[:32])

    return key_of


def _bytes(value: object) -> bytes:
    # ASCII encodes any text; `default` is for values such as paths in a model's description.
    return json.dumps(value, sort_keys=True, default=str).encode("ascii")
