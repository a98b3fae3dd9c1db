"""What --concurrency and --rate say: the levels of load to be measured."""

from __future__ import annotations

from typing import Final

from ragkit.errors import UsageError
from ragkit_serve.model.bench.record import Level

MOST_AT_ONCE: Final = 1024  # arbitrary; a client on one core is the limit well before


def parse_levels(text: str) -> list[Level]:
    """Read "1,2,4" as requests at once. Raises UsageError.

    >>> [str(level) for level in parse_levels("1, 4,4")]
    ['1', '4']
    """
    parts = [part.strip() for part in text.split(",")]
    # At most four digits: int() refuses thousands of them in words of its own.
    if not all(part.isascii() and part.isdigit() and len(part) <= 4 for part in parts):
        raise UsageError(f"--concurrency {text[:80]!r} is not understood: write it as 1,2,4,8")
    numbers = list(dict.fromkeys(map(int, parts)))
    if not all(1 <= number <= MOST_AT_ONCE for number in numbers):
        raise UsageError(f"--concurrency {text[:80]!r}: each level must be 1 to {MOST_AT_ONCE}")
    return [Level(concurrency=number) for number in numbers]


def parse_rates(text: str) -> list[Level]:
    """Read "0.5,2" as requests a second, sent whatever is answered by then. Raises UsageError."""
    try:
        rates = list(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        rates = []
    if not rates or not all(0.001 <= rate <= 10_000 for rate in rates):
        raise UsageError(
            f"--rate {text[:80]!r} is not understood: write requests a second as 0.5,2"
            " (0.001 to 10000)"
        )
    return [Level(rate_per_s=rate) for rate in rates]
