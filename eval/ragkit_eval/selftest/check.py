"""A line of the self-test: the subject, its oracle, the expected and the reproduced values."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """`subject` is the checked part of ragkit, `oracle` the source of the expected values.

    `passed` is None for a check that was left out; `reproduced` is then the reason.
    """

    subject: str
    oracle: str
    expected: str
    reproduced: str
    passed: bool | None


def agreement(
    subject: str,
    oracle: str,
    expected: Mapping[str, float],
    measured: Mapping[str, float],
    *,
    within: float,
    share: float = 1.0,
) -> Check:
    """Compare values by name: a `share` of them must be at most `within` from the expected value.

    An oracle without values fails, because such a check proves nothing.

    >>> agreement("double", "hand", {"1": 2.0, "2": 4.0}, {"1": 2.0, "2": 5.0}, within=0.1)
    ... # doctest: +NORMALIZE_WHITESPACE
    Check(subject='double', oracle='hand', expected='2 values within 0.1',
          reproduced='1 of 2, 2: 5 for 4', passed=False)
    """
    off = {
        name: abs(measured[name] - value) if name in measured else float("inf")
        for name, value in expected.items()
    }
    # The last printed digit may be rounded up or down.
    close = sum(distance <= within * (1 + 1e-9) for distance in off.values())
    reproduced = f"{close} of {len(expected)}"
    if close < len(expected):
        worst = max(off, key=off.__getitem__)
        got = f"{measured[worst]:.6g}" if worst in measured else "nothing"
        reproduced += f", {worst}: {got} for {expected[worst]:.6g}"
    elif off:
        reproduced += f", at most {max(off.values()):.1g} off"
    requirement = f"{len(expected)} values {f'within {within:g}' if within else 'exactly'}"
    requirement += f", {share:.1%} of them" if share < 1 else ""
    passed = bool(expected) and close >= share * len(expected)
    return Check(subject, oracle, requirement, reproduced, passed)


def left_out(subject: str, oracle: str, reason: str) -> Check:
    """Return a check that could not be made, with the reason."""
    return Check(subject, oracle, "", reason, None)
