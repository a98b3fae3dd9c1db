"""Outcomes of other runs, found by key: what was asked before need not be asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ragkit_eval.item import Item
from ragkit_eval.record import Record, read_lines


class Reuse:
    """The finished items of some runs; errors are not among them.

    Their prompts, which are nearly all of a run, are not kept in memory: an item of equal key has
    the same.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read the runs once. Raises NotFoundError, UsageError naming file and line."""
        self._records: dict[str, Record] = {}
        for path in paths:
            for record in read_lines(path):
                if isinstance(record, Record) and record.status != "error":
                    self._records[record.key] = replace(record, prompt="", question="")

    def find(self, key: str, item: Item) -> Record | None:
        """Return the outcome that has this key, made out to this item; None where there is none."""
        found = self._records.get(key)
        if found is None:
            return None
        return replace(
            found,
            id=item.id,
            group=item.group,
            cluster=item.cluster,
            question=item.question,
            prompt=item.prompt,
        )
