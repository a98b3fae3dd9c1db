"""Find outcomes of other runs by key, so that equal items are not asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ragkit_eval.run.item import Item
from ragkit_eval.run.record import Record, read_lines


class Reuse:
    """The finished items of some runs, without errors.

    Prompts, most of a run's size, are not held in memory: an item of equal key has the same prompt.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read the runs once. Raises NotFoundError, and UsageError naming file and line."""
        self._records: dict[str, Record] = {}
        for path in paths:
            for record in read_lines(path):
                if isinstance(record, Record) and record.status != "error":
                    self._records[record.key] = replace(record, prompt="", question="")

    def find(self, key: str, item: Item) -> Record | None:
        """Return the outcome of this key with the item's id and texts; None if there is none."""
        record = self._records.get(key)
        if record is None:
            return None
        return replace(
            record,
            id=item.id,
            group=item.group,
            cluster=item.cluster,
            question=item.question,
            prompt=item.prompt,
        )
