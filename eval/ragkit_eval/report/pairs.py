"""Items as several runs answered them, what changed between, and which of them a report shows.

It knows of statuses, predictions and scores only; the first run is what others are held against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from ragkit_eval.record import Record, Run
from ragkit_eval.report.texts import Key

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
    """One item: its record of each run, None where a run has not come to it."""

    key: Key
    group: str
    records: tuple[Record | None, ...]
    kind: Kind
    differs: bool  # the runs disagree on whether it is right


@dataclass(frozen=True, slots=True)
class Choice:
    """The items that a report shows, most telling first, and how many there are of each kind."""

    pairs: tuple[Pair, ...]
    shown: Mapping[Kind, int]
    all: Mapping[Kind, int]

    @property
    def left_out(self) -> int:
        """Return how many items are not shown."""
        return sum(self.all.values()) - len(self.pairs)


def pairs(runs: Sequence[Run]) -> list[Pair]:
    """Bring the runs' records of each item together, in the order of the first run."""
    found: dict[Key, list[Record | None]] = {}
    for n, run in enumerate(runs):
        for record in run.records:
            found.setdefault((record.task, record.id), [None] * len(runs))[n] = record
    metrics = {task.name: task.metric for run in runs for task in run.header.tasks}
    return [_pair(key, tuple(records), metrics.get(key[0], "")) for key, records in found.items()]


def choose(found: Sequence[Pair], limit: int | None) -> Choice:
    """Take what tells most: disagreements, then errors, other differences, and the rest.

    Within each of these it is a sample by the hash of the items' names: fair to every subject,
    and the same in every report on the same data. None takes all.
    """
    order = {pair.key: n for n, pair in enumerate(found)}
    ranked = sorted(found, key=lambda pair: (_tier(pair), _hash(pair.key)))[:limit]
    ranked.sort(key=lambda pair: (_tier(pair), order[pair.key]))
    return Choice(
        tuple(ranked),
        Counter(pair.kind for pair in ranked),
        Counter(pair.kind for pair in found),
    )


def _pair(key: Key, records: tuple[Record | None, ...], metric: str) -> Pair:
    there = [record for record in records if record is not None]
    right = [record.status == "ok" for record in there]
    differs = len(set(right)) > 1
    kind: Kind
    if any(record.status == "error" for record in there):
        kind = "error"
    elif differs:
        kind = "broken" if right[0] else "fixed"
    elif len({(record.prediction, record.value(metric)) for record in there}) > 1:
        # Two right answers in other words are no difference worth a reader's time.
        kind = "right" if right[0] and _same_score(there, metric) else "differs"
    else:
        kind = "right" if right[0] else "wrong"
    return Pair(key, next((r.group for r in there if r.group), ""), records, kind, differs)


def _same_score(records: Sequence[Record], metric: str) -> bool:
    return len({record.value(metric) for record in records}) == 1


def _tier(pair: Pair) -> int:
    if pair.differs:
        return 0
    return {"error": 1, "differs": 2, "wrong": 3}.get(pair.kind, 4)


def _hash(key: Key) -> bytes:
    return sha256("\0".join(key).encode("utf-8", "surrogatepass")).digest()
