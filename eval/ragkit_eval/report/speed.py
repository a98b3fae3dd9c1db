"""Compute the cost of a run's answers: seconds, tokens and money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragkit_eval.answers import Latency, Prices, latency, tokens_and_cost
from ragkit_eval.run.record import Record


@dataclass(frozen=True, slots=True)
class Speed:
    """The cost of a run.

    `seconds` are the latencies of the answered items, ascending. `tokens` is the mean of prompt and
    completion tokens, over the items that have both; `thousand` is the price of 1,000 items, in the
    currency of the prices.
    """

    seconds: tuple[float, ...]
    times: Latency
    tokens: float | None
    thousand: float | None


def speed(records: Sequence[Record], prices: Prices | None = None) -> Speed:
    """Compute the cost of a run's items; an error may have tokens, but no latency."""
    cost = tokens_and_cost(records, prices=prices)
    tokens = None
    if cost.prompt_tokens is not None and cost.completion_tokens is not None:
        tokens = (cost.prompt_tokens + cost.completion_tokens) / cost.known
    answered = (record for record in records if record.status != "error")
    return Speed(
        tuple(sorted(record.latency_s for record in answered if record.latency_s > 0)),
        latency(records),
        tokens,
        None if cost.cost is None else cost.cost / cost.known * 1000,
    )
