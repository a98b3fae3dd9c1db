"""What a list of tasks says of each: what it asks, and the data found or what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.item import Item, Response, Scored
from ragkit_eval.tasks.registry import find_spec
from ragkit_eval.tasks.task import DeclaredTask

_NOWHERE = Path("DIR")


def listed(name: str, data: Path | None) -> dict[str, Any]:
    """Describe one task as JSON values; `state` is ready, missing, malformed or unknown.

    Missing is data that is not there, malformed data that cannot be read, unknown data of which
    nobody said where it is. Raises UsageError for a name that no task has.
    """
    spec, root = find_spec(name, data=data or _NOWHERE)
    own = root.parts[:1] != _NOWHERE.parts
    task = DeclaredTask(spec, root, _Unscored())
    items, groups, hash_, state, problem = None, None, None, "ready", ""
    if not own and data is None:
        state, problem = "unknown", f"give --data DIR; expected is {root}"
    else:
        try:
            task.check()
            found = [item.group for item in task.items()]
            items, groups, hash_ = len(found), len(set(found) - {""}), task.data_hash
        except NotFoundError as error:
            state, problem = "missing", _without(name, error)
        except UsageError as error:
            state, problem = "malformed", _without(name, error)
    return {
        "name": spec.name,
        "title": spec.title,
        "source": spec.source,
        "version": spec.signature,
        "method": spec.method,
        "metric": spec.metric,
        "items": items,
        "groups": groups,
        "state": state,
        "folder": str(root),
        "problem": problem,
        "data_hash": hash_,
        "executes_code": spec.scorer == "program",
    }


class _Unscored:
    """Stands where a scorer would: a list scores nothing, and needs no leave to run code."""

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return none."""
        return {}

    def score(self, item: Item, response: Response) -> Scored:
        """Refuse."""
        raise AssertionError("a listed task is not scored")


def _without(name: str, error: UsageError) -> str:
    return str(error).removeprefix(f"{name}: ")
