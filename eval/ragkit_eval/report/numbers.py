"""Format the numbers of a report."""

from __future__ import annotations

from math import isfinite

from ragkit_eval.stats import Interval

MINUS = "\u2212"


def interval(value: Interval) -> str:
    """Format the interval of a score: "[0.700, 0.730]"."""
    return f"[{value.low:.3f}, {value.high:.3f}]"


def signed(value: float, digits: int = 3) -> str:
    """Format a difference with its sign; a value that rounds to zero has none."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)


def signed_interval(value: Interval) -> str:
    """Format the interval of a difference: "[+0.004, +0.021]"."""
    return f"[{signed(value.low)}, {signed(value.high)}]"


def seconds(value: float) -> str:
    """Format a duration in milliseconds or seconds."""
    if value < 0.9995:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"


def share(part: float) -> str:
    """Format a share in per cent; only 1 is 100%, only 0 is 0%."""
    text = f"{part * 100:.1f}%"
    if text == "100.0%":
        return "100%" if part >= 1 else ">99.9%"
    if text == "0.0%":
        return "0%" if part <= 0 else "<0.1%"
    return text


def count(value: float) -> str:
    """Format a whole number with thousands separators."""
    return f"{value:,.0f}"


def p_value(value: float) -> str:
    """Format a probability, a very small one as a bound."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def detectable(value: float) -> str:
    """Format the smallest difference that can be shown; infinite means none."""
    return f"{value:.3f}" if isfinite(value) else "none with so few items"


def counted(value: int, noun: str) -> str:
    """Format a number with its noun: "1 item", "1,140 items"."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"
