"""How a report writes its numbers; nothing of where they come from."""

from __future__ import annotations

from math import isfinite

from ragkit_eval.stats import Interval

MINUS = "\u2212"


def interval(value: Interval) -> str:
    """Write the interval of a score: "[0.700, 0.730]"."""
    return f"[{value.low:.3f}, {value.high:.3f}]"


def signed(value: float, digits: int = 3) -> str:
    """Write a difference with its sign; what rounds to zero has none."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)


def signed_interval(value: Interval) -> str:
    """Write the interval of a difference: "[+0.004, +0.021]"."""
    return f"[{signed(value.low)}, {signed(value.high)}]"


def seconds(value: float) -> str:
    """Write a duration, short."""
    if value < 0.9995:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"


def share(part: float) -> str:
    """Write a share in per cent; only all of it is 100%, only nothing is 0%."""
    text = f"{part * 100:.1f}%"
    if text == "100.0%":
        return "100%" if part >= 1 else ">99.9%"
    if text == "0.0%":
        return "0%" if part <= 0 else "<0.1%"
    return text


def count(value: float) -> str:
    """Write a whole number with its thousands apart."""
    return f"{value:,.0f}"


def p_value(value: float) -> str:
    """Write a probability; a very small one as a bound."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def detectable(value: float) -> str:
    """Write the smallest difference that can be shown; infinite: none can."""
    return f"{value:.3f}" if isfinite(value) else "none with so few items"


def counted(value: int, what: str) -> str:
    """Write a number of things: "1 item", "1,140 items"."""
    return f"{count(value)} {what}{'' if value == 1 else 's'}"
