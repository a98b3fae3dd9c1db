"""One line of the self-test: what was checked against what, and how it came out."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """`subject` is what of ragkit is checked, `oracle` where the expected values come from.

    `passed` is None for what was left out; `reproduced` then says why.
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
    found: Mapping[str, float],
    *,
    within: float,
    share: float = 1.0,
) -> Check:
    """Compare values by name: a `share` of the expected must be found, at most `within` off.

    An oracle without values fails: a check that compares nothing proves nothing.

    >>> agreement("double", "hand", {"1": 2.0, "2": 4.0}, {"1": 2.0, "2": 5.0}, within=0.1)
    ... # doctest: +NORMALIZE_WHITESPACE
    Check(subject='double', oracle='hand', expected='2 values within 0.1',
          reproduced='1 of 2, 2: 5 for 4', passed=False)
    """
    off = {
        name: abs(found[name] - value) if name in found else float("inf")
        for name, value in expected.items()
    }
    # The last digit that is printed may be rounded either way.
    close = sum(distance <= within * (1 + 1e-9) for distance in off.values())
    reproduced = f"{close} of {len(expected)}"
    if close < len(expected):
        worst = max(off, key=off.__getitem__)
        got = f"{found[worst]:.6g}" if worst in found else "nothing"
        reproduced += f", {worst}: {got} for {expected[worst]:.6g}"
    elif off:
        reproduced += f", at most {max(off.values()):.1g} off"
    wanted = f"{len(expected)} values {f'within {within:g}' if within else 'exactly'}"
    wanted += f", {share:.1%} of them" if share < 1 else ""
    passed = bool(expected) and close >= share * len(expected)
    return Check(subject, oracle, wanted, reproduced, passed)


def left_out(subject: str, oracle: str, reason: str) -> Check:
    """Say that a check could not be made here, and why."""
    return Check(subject, oracle, "", reason, None)
