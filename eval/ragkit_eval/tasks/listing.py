"""Describe a task for the list of tasks: its title, method, metric, and the state of its data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.run.item import Item, Response, Scored
from ragkit_eval.tasks.registry import find_spec
from ragkit_eval.tasks.spec import Spec
from ragkit_eval.tasks.task import DeclaredTask

_PLACEHOLDER = Path("DIR")


def listed(name: str, data: Path | None) -> dict[str, Any]:
    """Describe a task as JSON values; `state` is ready, missing, malformed or unknown.

    Missing data does not exist, malformed data cannot be read, and the state is unknown if no data
    folder was named. Raises UsageError for a name that no task has.
    """
    spec, root = find_spec(name, data=data or _PLACEHOLDER)
    has_own_data = root.parts[:1] != _PLACEHOLDER.parts
    task = DeclaredTask(spec, root, _NoScorer())
    items, groups, hash_, state, problem = None, None, None, "ready", ""
    if not has_own_data and data is None:
        state, problem = "unknown", f"give --data DIR; expected is {root}"
    else:
        try:
            task.check()
            item_groups = [item.group for item in task.items()]
            items, groups, hash_ = len(item_groups), len(set(item_groups) - {""}), task.data_hash
        except NotFoundError as error:
            state, problem = "missing", _without_name(name, error)
        except UsageError as error:
            state, problem = "malformed", _without_name(name, error)
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
        "needs": _needs(spec),
    }


def _needs(spec: Spec) -> list[str]:
    """Name what a task needs besides its data and a server that completes texts."""
    needs = []
    if spec.scorer == "program":
        needs.append("runs code: --execute-code")
    if spec.scorer == "judged":
        needs.append("a judge: --judge")
    if spec.method == "loglikelihood":
        needs.append("a server that echoes log-probabilities")
    if spec.sampling.chat:
        needs.append("a chat model")
    return needs


class _NoScorer:
    """A scorer for tasks that are only listed, so that no permission to run code is needed."""

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return no metrics."""
        return {}

    def score(self, item: Item, response: Response) -> Scored:
        """Raise AssertionError: a listed task has no responses."""
        raise AssertionError("a listed task is not scored")


def _without_name(name: str, error: UsageError) -> str:
    return str(error).removeprefix(f"{name}: ")
