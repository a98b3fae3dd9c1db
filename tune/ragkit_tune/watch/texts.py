"""How figures of runs are written: steps, times, sizes, speeds, values of curves."""

from __future__ import annotations

import re

from ragkit_tune.watch.summary import Best, Summary

NONE = "–"
_EXPONENT = re.compile(r"e([+-])0*(\d)")
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def value(number: float) -> str:
    """Write a value of a curve in at most six characters or so.

    >>> value(0.00002), value(1234567), value(0.5), value(2.34567)
    ('2e-5', '1.23e6', '0.5', '2.346')
    """
    text = f"{number:.4g}" if 0.001 <= abs(number) < 10_000 else f"{number:.3g}"
    return _EXPONENT.sub(lambda found: f"e{found[1].replace('+', '')}{found[2]}", text)


def tick(number: float) -> str:
    """Write a number beside an axis.

    >>> tick(12000), tick(2500000), tick(50), tick(1e-05)
    ('12k', '2.5M', '50', '1e-5')
    """
    for size, unit in _UNITS:
        if abs(number) >= size:
            return f"{number / size:g}{unit}"
    return _EXPONENT.sub(lambda found: f"e{found[1].replace('+', '')}{found[2]}", f"{number:g}")


def count(number: int | None) -> str:
    """Write a count with thousands separators."""
    return NONE if number is None else f"{number:,}"


def duration(seconds: float | None) -> str:
    """Write a time in its two largest units.

    >>> duration(0.25), duration(59.4), duration(61), duration(7265), duration(90000)
    ('0.2 s', '59 s', '1 min 1 s', '2 h 1 min', '25 h 0 min')
    """
    if seconds is None:
        return NONE
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def memory(run: Summary) -> str:
    """Write the most memory that a run had, and of what."""
    if run.peak_bytes is None:
        return NONE
    size = run.peak_bytes / 2**20
    text = f"{size:,.0f} MiB" if size < 10_000 else f"{size / 1024:,.1f} GiB"
    return f"{text} ({'GPU' if run.peak_of == 'gpu' else 'whole process'})"


def speed(tokens_per_s: float | None) -> str:
    """Write a speed in tokens a second."""
    return NONE if tokens_per_s is None else f"{tokens_per_s:,.0f} tokens/s"


def best(found: Best | None) -> str:
    """Write the best value of the dev measure with its step and the value before training."""
    if found is None:
        return NONE
    return f"{found.measure} {found.value:.4f} {_where(found)}"


def best_beside(found: Best) -> str:
    """Write what stands beside a best value that is shown large."""
    return f"{found.measure} {_where(found)}"


def rows(run: Summary) -> str:
    """Write how many rows a run is trained on and chosen by."""
    if run.rows is None:
        return "gone or changed"
    return f"{count(run.rows)} and {count(run.dev_rows)} dev"


def recipe_value(value: object) -> str:
    """Write a value of a recipe."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"


def _where(found: Best) -> str:
    before = "" if found.before is None else f", {found.before:.4f} before"
    return f"at step {found.step:,}{before}"
