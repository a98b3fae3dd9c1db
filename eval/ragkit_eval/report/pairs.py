"""Pair the runs' records by item, classify what changed, and choose the items of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from ragkit_eval.report.extract import Key
from ragkit_eval.run.record import Record, Run

Kind = Literal["broken", "fixed", "error", "differs", "wrong", "right"]
KINDS: dict[Kind, str] = {
    "broken": "right in the first run, not in another",
    "fixed": "not right in the first run, right in another",
    "error": "at least one run ended in an error",
    "differs": "the same outcome, by another answer or score",
    "wrong": "right in no run, the same everywhere",
    "right": "right in every run",
}
SINGLE: dict[Kind, str] = {"error": "ended in an error", "wrong": "wrong", "right": "right"}


@dataclass(frozen=True, slots=True)
class Pair:
    """An item with its record of each run, None where a run has not reached it."""

    key: Key
    group: str
    records: tuple[Record | None, ...]
    kind: Kind
    differs: bool  # the runs disagree whether it is right


@dataclass(frozen=True, slots=True)
class Choice:
    """The items that a report shows, most informative first, and their number by kind."""

    pairs: tuple[Pair, ...]
    selected: Mapping[Kind, int]
    all: Mapping[Kind, int]

    @property
    def left_out(self) -> int:
        """Return the number of items that are not selected."""
        return sum(self.all.values()) - len(self.pairs)


def pairs(runs: Sequence[Run]) -> list[Pair]:
    """Pair the runs' records of each item, in the order of the first run."""
    by_item: dict[Key, list[Record | None]] = {}
    for n, run in enumerate(runs):
        for record in run.records:
            by_item.setdefault((record.task, record.id), [None] * len(runs))[n] = record
    metrics = {task.name: task.metric for run in runs for task in run.header.tasks}
    return [
        _classify(key, tuple(records), metrics.get(key[0], "")) for key, records in by_item.items()
    ]


def choose(all_pairs: Sequence[Pair], limit: int | None) -> Choice:
    """Select items: disagreements first, then errors, other differences, and the others.

    Within each of these kinds it is a sample by the hash of the items' names: fair to every
    subject, and the same in every report on the same data. None selects all.
    """
    order = {pair.key: n for n, pair in enumerate(all_pairs)}
    ranked = sorted(all_pairs, key=lambda pair: (_tier(pair), _hash_key(pair.key)))[:limit]
    ranked.sort(key=lambda pair: (_tier(pair), order[pair.key]))
    return Choice(
        tuple(ranked),
        Counter(pair.kind for pair in ranked),
        Counter(pair.kind for pair in all_pairs),
    )


def _classify(key: Key, records: tuple[Record | None, ...], metric: str) -> Pair:
    present = [record for record in records if record is not None]
    right = [record.status == "ok" for record in present]
    differs = len(set(right)) > 1
    kind: Kind
    if any(record.status == "error" for record in present):
        kind = "error"
    elif differs:
        kind = "broken" if right[0] else "fixed"
    elif len({(record.prediction, record.value(metric)) for record in present}) > 1:
        # Right answers in different words are no difference worth reading.
        kind = "right" if right[0] and _have_same_score(present, metric) else "differs"
    else:
        kind = "right" if right[0] else "wrong"
    return Pair(
        key, next((record.group for record in present if record.group), ""), records, kind, differs
    )


def _have_same_score(records: Sequence[Record], metric: str) -> bool:
    return len({record.value(metric) for record in records}) == 1


def _tier(pair: Pair) -> int:
    if pair.differs:
        return 0
    return {"error": 1, "differs": 2, "wrong": 3}.get(pair.kind, 4)


def _hash_key(key: Key) -> bytes:
    return sha256("\0".join(key).encode("utf-8", "surrogatepass")).digest()
