"""Tokens that a run took, and what they cost at prices that somebody names."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragkit.errors import UsageError
from ragkit_eval.record import Record

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million tokens, in any one currency.

    `cached` is for those of the prompt that were read from a prefix cache; None: as any other.
    """

    prompt: float
    completion: float
    cached: float | None = None

    def __post_init__(self) -> None:
        for name in ("prompt", "completion", "cached"):
            price = getattr(self, name)
            if price is not None and not (math.isfinite(price) and price >= 0):
                raise UsageError(f"the {name} price {price!r} makes no sense: it is 0 or more")


@dataclass(frozen=True, slots=True)
class Cost:
    """Sums over the `known` items whose tokens were told; the `unknown` ones are not in them.

    A sum is None where no item was told; `cached_tokens` also where one of the known did not tell
    them. `cost` is in the currency of the prices, None without prices or tokens, and a lower bound
    where `unknown` is not 0; tokens not told to be cached are paid in full.
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    known: int
    unknown: int
    cost: float | None


def tokens_and_cost(records: Sequence[Record], *, prices: Prices | None = None) -> Cost:
    """Sum a run's tokens up, and price them. An item that does not tell its tokens is unknown."""
    told = [one.usage for one in records if {"prompt_tokens", "completion_tokens"} <= {*one.usage}]
    unknown = len(records) - len(told)
    if not told:
        return Cost(None, None, None, 0, unknown, None)
    prompt = sum(usage["prompt_tokens"] for usage in told)
    completion = sum(usage["completion_tokens"] for usage in told)
    hits = [usage.get("cached_tokens") for usage in told]
    read = sum(count or 0 for count in hits)
    cost = None
    if prices is not None:
        cached = prices.prompt if prices.cached is None else prices.cached
        paid = (prompt - read) * prices.prompt + read * cached + completion * prices.completion
        cost = paid / _MILLION
    cached_tokens = None if None in hits else read
    return Cost(prompt, completion, cached_tokens, len(told), unknown, cost)
