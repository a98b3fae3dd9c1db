"""The tokens of a run, and their cost at given prices."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragkit.errors import UsageError
from ragkit_eval.run.record import Record

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million tokens, in any one currency.

    `cached` is the price of prompt tokens from a prefix cache; None: the price of the prompt.
    """

    prompt: float
    completion: float
    cached: float | None = None

    def __post_init__(self) -> None:
        for name in ("prompt", "completion", "cached"):
            price = getattr(self, name)
            if price is not None and not (math.isfinite(price) and price >= 0):
                raise UsageError(f"the {name} price is {price!r}: it must be 0 or more")


@dataclass(frozen=True, slots=True)
class Cost:
    """Sums over the `known` items, whose token counts are in the run; `unknown` items have none.

    A sum is None without known items; `cached_tokens` is None too if a known item lacks them.
    `cost` is in the currency of the prices, None without prices or tokens, and a lower bound if
    `unknown` is not 0; tokens are cached only where the run says so.
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    known: int
    unknown: int
    cost: float | None


def tokens_and_cost(records: Sequence[Record], *, prices: Prices | None = None) -> Cost:
    """Sum the tokens of a run, and price them. An item without token counts is unknown."""
    usages = [
        record.usage
        for record in records
        if {"prompt_tokens", "completion_tokens"} <= {*record.usage}
    ]
    unknown = len(records) - len(usages)
    if not usages:
        return Cost(None, None, None, 0, unknown, None)
    prompt = sum(usage["prompt_tokens"] for usage in usages)
    completion = sum(usage["completion_tokens"] for usage in usages)
    hits = [usage.get("cached_tokens") for usage in usages]
    read = sum(count or 0 for count in hits)
    cost = None
    if prices is not None:
        cached = prices.prompt if prices.cached is None else prices.cached
        paid = (prompt - read) * prices.prompt + read * cached + completion * prices.completion
        cost = paid / _MILLION
    cached_tokens = None if None in hits else read
    return Cost(prompt, completion, cached_tokens, len(usages), unknown, cost)
