"""Pictures as markup: elements, scales, axes and a mark per run, told apart by shape and colour.

It knows nothing of evaluation. Colours are classes (`s0` ... `s7`) that the page's style fills, so
that light, dark and print follow; everything said is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from markupsafe import Markup, escape

COLOURS = 8  # the page's style has so many; shapes go on differing a while longer
Number = float | int


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from `low` to `high` onto pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a value; beyond the ends it is the end's."""
        value = min(max(value, self.low), self.high)
        if self.log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def linear(
    values: Sequence[float],
    start: float,
    end: float,
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> Scale:
    """Make a scale that holds all values with some room, from round to round."""
    low, high = min(values), max(values)
    room = (high - low) * 0.08 or abs(high) * 0.05 or 0.01
    step = _step(high - low + 2 * room)
    lowest = math.floor((low - room) / step) * step
    if low >= 0:
        lowest = max(0.0, lowest)
    highest = math.ceil((high + room) / step) * step
    return Scale(max(at_least, lowest), min(at_most, highest), start, end)


def logarithmic(values: Sequence[float], start: float, end: float) -> Scale:
    """Make a logarithmic scale over positive values, from 1, 2 or 5 to the same."""
    low, high = min(values), max(values)
    rounds = _log_rounds(low / 2, high * 5)
    lowest = max((one for one in rounds if one <= low), default=low)
    highest = min((one for one in rounds if one >= high and one > lowest), default=high * 2)
    return Scale(lowest, highest, start, end, log=True)


def ticks(scale: Scale, most: int = 7) -> list[float]:
    """Return round values on a scale, up to `most` of them."""
    if scale.log:
        rounds = [one for one in _log_rounds(scale.low, scale.high) if _within(one, scale)]
        return rounds if len(rounds) <= most else [one for one in rounds if _mantissa(one) == 1]
    step = _step(scale.high - scale.low, most - 1)
    first = math.ceil(scale.low / step - 1e-9)
    last = math.floor(scale.high / step + 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


def _step(width: float, most: int = 6) -> float:
    power = 10.0 ** math.floor(math.log10(width / most))
    return next(n * power for n in (1, 2, 5, 10, 20) if width / (n * power) <= most)


def _log_rounds(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [float(f"{n}e{power}") for power in range(first, last + 1) for n in (1, 2, 5)]


def _within(value: float, scale: Scale) -> bool:
    return scale.low * (1 - 1e-9) <= value <= scale.high * (1 + 1e-9)


def _mantissa(value: float) -> int:
    return round(value / 10.0 ** math.floor(math.log10(value) + 1e-9))


def element(name: str, *children: Markup | str, **attributes: Number | str | None) -> Markup:
    """Write an element; names of attributes have `_` for `-` and at the end nothing for it."""
    said = Markup("").join(
        Markup(' {}="{}"').format(
            key.rstrip("_").replace("_", "-"), number(value) if _is_number(value) else value
        )
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), said, inner)  # noqa: S704  escaped above


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def number(value: object) -> str:
    """Write pixels: a tenth is finer than the eye."""
    text = f"{float(str(value)):.1f}"
    return text[:-2] if text.endswith(".0") else text


def picture(
    ident: str, title: str, description: str, width: int, height: int, *children: Markup
) -> Markup:
    """Wrap elements as a picture that a screen reader can tell of."""
    return element(
        "svg",
        element("title", title, id=f"{ident}-title"),
        element("desc", description, id=f"{ident}-desc"),
        *children,
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )


def text(content: str, x: float, y: float, *, anchor: str = "start", kind: str = "") -> Markup:
    """Write a text at a place."""
    return element("text", content, x=x, y=y, text_anchor=anchor, class_=kind or None)


def rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Draw a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def colour(index: int) -> str:
    """Return the class that colours what belongs to a run."""
    return f"s{index % COLOURS}"


def letter(index: int) -> str:
    """Return the letter by which pictures and tables call a run: A, B, ... Z, R27, ..."""
    return ascii_uppercase[index] if index < len(ascii_uppercase) else f"R{index + 1}"


def mark(index: int, x: float, y: float, size: float = 4.5) -> Markup:
    """Draw a run's mark: its shape says which run it is, also without its colour."""
    kind = f"mark {colour(index)}"
    shape = index % 6
    if shape == 0:
        return element("circle", cx=x, cy=y, r=size, class_=kind)
    corners = _CORNERS[shape]
    points = " ".join(f"{number(x + dx * size)},{number(y + dy * size)}" for dx, dy in corners)
    return element("polygon", points=points, class_=kind)


_CORNERS: dict[int, tuple[tuple[float, float], ...]] = {
    1: ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    2: ((-0.95, -0.95), (0.95, -0.95), (0.95, 0.95), (-0.95, 0.95)),
    3: ((0, -1.2), (1.2, 0.95), (-1.2, 0.95)),
    4: ((-1.2, -0.95), (1.2, -0.95), (0, 1.2)),
    5: ((-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)),
}


def axes(
    x: Scale,
    y: Scale,
    x_label: str,
    y_label: str,
    *,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
) -> Markup:
    """Draw the grid of two scales with what its lines mean."""
    parts = []
    for value in ticks(y):
        parts.append(rule(x.start, y(value), x.end, y(value), "grid"))
        parts.append(text(y_text(value), x.start - 6, y(value) + 3.5, anchor="end", kind="tick"))
    for value in ticks(x):
        parts.append(rule(x(value), y.start, x(value), y.end, "grid"))
        parts.append(text(x_text(value), x(value), y.start + 15, anchor="middle", kind="tick"))
    parts.append(rule(x.start, y.start, x.end, y.start, "axis"))
    parts.append(text(x_label, (x.start + x.end) / 2, y.start + 31, anchor="middle", kind="label"))
    parts.append(text(y_label, x.start, y.end - 8, kind="label"))
    return Markup("").join(parts)
