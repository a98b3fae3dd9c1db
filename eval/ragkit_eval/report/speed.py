"""What an answer costs: seconds and tokens, over the items that were answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragkit_eval.record import Record


@dataclass(frozen=True, slots=True)
class Speed:
    """One run's cost of an answer: seconds of the answered items, growing, and mean tokens."""

    latencies: tuple[float, ...]
    mean_s: float | None
    tokens: float | None
    first_token_s: float | None

    def quantile(self, part: float) -> float | None:
        """Return the latency under which this part of the answers lies (nearest rank)."""
        if not self.latencies:
            return None
        rank = -int(-part * len(self.latencies) // 1)
        return self.latencies[max(0, rank - 1)]


def speed(records: Sequence[Record]) -> Speed:
    """Gather the cost of the answered items; errors cost, but are no answers."""
    answered = [record for record in records if record.status != "error"]
    latencies = sorted(record.latency_s for record in answered if record.latency_s > 0)
    tokens = [
        record.usage.get("prompt_tokens", 0) + record.usage.get("completion_tokens", 0)
        for record in answered
        if record.usage
    ]
    firsts = sorted(r.first_token_s for r in answered if r.first_token_s is not None)
    return Speed(
        tuple(latencies),
        sum(latencies) / len(latencies) if latencies else None,
        sum(tokens) / len(tokens) if tokens else None,
        firsts[(len(firsts) - 1) // 2] if firsts else None,
    )
