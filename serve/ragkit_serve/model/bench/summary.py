"""From measured requests to figures: what each figure means, and how it is made from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import Field

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]

DEFINITIONS: Final = {
    "ttft_s": "time to first token: from sending a request (open load: from when it was due) to"
    " the arrival of the first piece of text",
    "tpot_s": "time per output token after the first: (e2e_s - ttft_s) / (output_tokens - 1), per"
    " request; requests of one token have none",
    "itl_s": "inter-token latency: gaps between the arrivals of pieces of text, of all requests"
    " together; a piece may hold several tokens, and pieces that arrive together have gaps of 0",
    "e2e_s": "end to end: from sending a request to the last piece, or the word that it is over",
    "requests_per_s": "completed requests / wall time from the first sending to the last end",
    "output_tokens_per_s": "output tokens of completed requests / that wall time",
    "cached_share": "prompt tokens read from the prefix cache / all prompt tokens, as told by the"
    " server in each answer's usage, else by its counters",
    "percentiles": "linear interpolation between order statistics (numpy's default), over the n"
    " samples that stand beside them; a p99 of fewer than 100 is close to their maximum",
    "failed": "requests that did not end well are counted by kind and in no other figure",
    "warm_up": "requests before each level, of other words, are in no figure",
    "marks": "each level's prompts begin with a mark of its own, so that it finds nothing in a"
    " prefix cache but what it put there itself (and the system prompt, by its warm-up)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request: `number` in the workload, times in seconds; `error` names why it failed, or "".

    `start_s` counts from the level's first request. `said` are the server's words to the error.
    """

    number: Count
    group: Count
    start_s: Seconds
    e2e_s: Seconds
    ttft_s: Seconds | None = None
    gaps_s: tuple[Seconds, ...] = ()
    prompt_tokens: Count | None = None
    output_tokens: Count = 0
    cached_tokens: Count | None = None
    error: str = ""
    said: str = ""

    @property
    def tpot_s(self) -> float | None:
        if self.ttft_s is None or self.output_tokens < 2:
            return None
        return (self.e2e_s - self.ttft_s) / (self.output_tokens - 1)


@dataclass(frozen=True, slots=True)
class Spread:
    """How `n` samples lie, in seconds."""

    n: int
    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of one level; None where no request gave a sample. See DEFINITIONS."""

    completed: int
    failed: int
    wall_s: float
    requests_per_s: float
    output_tokens_per_s: float
    prompt_tokens: float | None
    output_tokens: float | None
    cached_share: float | None
    ttft_s: Spread | None
    tpot_s: Spread | None
    itl_s: Spread | None
    e2e_s: Spread | None
    errors: Mapping[str, int] = field(default_factory=dict)


def summarise(
    rows: Sequence[Row], wall_s: float, *, cached_by_metrics: float | None = None
) -> Summary:
    """Sum a level up; `cached_by_metrics` is used where the answers do not tell."""
    done = [row for row in rows if not row.error]
    tokens = sum(row.output_tokens for row in done)
    told = cached_share(done)
    return Summary(
        completed=len(done),
        failed=len(rows) - len(done),
        errors=dict(Counter(row.error for row in rows if row.error).most_common()),
        wall_s=wall_s,
        requests_per_s=len(done) / wall_s,
        output_tokens_per_s=tokens / wall_s,
        prompt_tokens=_mean([row.prompt_tokens for row in done]),
        output_tokens=tokens / len(done) if done else None,
        cached_share=cached_by_metrics if told is None else told,
        ttft_s=spread(_samples(done, lambda row: row.ttft_s)),
        tpot_s=spread(_samples(done, lambda row: row.tpot_s)),
        itl_s=spread([gap for row in done for gap in row.gaps_s]),
        e2e_s=spread([row.e2e_s for row in done]),
    )


def spread(samples: Sequence[float]) -> Spread | None:
    """Describe samples; None for none.

    >>> spread([1.0, 2.0, 3.0, 4.0]).p50
    2.5
    """
    import numpy as np

    if not samples:
        return None
    p50, p95, p99 = (float(value) for value in np.percentile(samples, [50, 95, 99]))
    return Spread(len(samples), float(np.mean(samples)), p50, p95, p99)


def cached_share(rows: Sequence[Row]) -> float | None:
    """Return the share of prompt tokens that came from the cache; None where answers don't tell."""
    told = [row for row in rows if row.cached_tokens is not None and row.prompt_tokens]
    if not told or len(told) < len(rows):
        return None
    prompt = sum(row.prompt_tokens or 0 for row in told)
    return sum(row.cached_tokens or 0 for row in told) / prompt


def _samples(rows: Sequence[Row], of: Callable[[Row], float | None]) -> list[float]:
    return [value for value in map(of, rows) if value is not None]


def _mean(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
