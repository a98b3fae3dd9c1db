"""What an answer costs: seconds, tokens and money, as ragkit_eval.answers counts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragkit_eval.answers import Latency, Prices, latency, tokens_and_cost
from ragkit_eval.record import Record


@dataclass(frozen=True, slots=True)
class Speed:
    """One run's cost of an item.

    `seconds` are the latencies of the answered items, growing. `tokens` are of a prompt and its
    answer, the mean over the items that tell them; `thousand` is the price of 1,000 items, in the
    currency of the prices.
    """

    seconds: tuple[float, ...]
    times: Latency
    tokens: float | None
    thousand: float | None


def speed(records: Sequence[Record], prices: Prices | None = None) -> Speed:
    """Gather what a run's items cost; an error has tokens at most, and no time."""
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
