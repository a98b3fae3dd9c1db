"""Draw SVG: elements, scales, axes, and a mark per run that differs by shape and colour.

Colours are classes (`s0` ... `s7`) of the page's style, for light, dark and print. All texts are
escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from markupsafe import Markup, escape

COLOURS = 8  # classes in the page's style; with their shapes, 24 marks differ
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
        """Return the pixel of a value; values beyond an end have the end's pixel."""
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
    """Make a scale that holds all values with a margin, between round numbers."""
    low, high = min(values), max(values)
    room = (high - low) * 0.08 or abs(high) * 0.05 or 0.01
    step = _round_step(high - low + 2 * room)
    lowest = math.floor((low - room) / step) * step
    if low >= 0:
        lowest = max(0.0, lowest)
    highest = math.ceil((high + room) / step) * step
    return Scale(max(at_least, lowest), min(at_most, highest), start, end)


def logarithmic(values: Sequence[float], start: float, end: float) -> Scale:
    """Make a logarithmic scale over positive values, between 1, 2 or 5 times a power of 10."""
    low, high = min(values), max(values)
    rounds = _round_logs(low / 2, high * 5)
    lowest = max((value for value in rounds if value <= low), default=low)
    highest = min((value for value in rounds if value >= high and value > lowest), default=high * 2)
    return Scale(lowest, highest, start, end, log=True)


def ticks(scale: Scale, max_ticks: int = 7) -> list[float]:
    """Return round values on a scale, up to `max_ticks` of them."""
    if scale.log:
        rounds = [value for value in _round_logs(scale.low, scale.high) if _is_within(value, scale)]
        return (
            rounds
            if len(rounds) <= max_ticks
            else [value for value in rounds if _leading_digit(value) == 1]
        )
    step = _round_step(scale.high - scale.low, max_ticks - 1)
    first = math.ceil(scale.low / step - 1e-9)
    last = math.floor(scale.high / step + 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


def _round_step(width: float, max_steps: int = 6) -> float:
    power = 10.0 ** math.floor(math.log10(width / max_steps))
    return next(n * power for n in (1, 2, 5, 10, 20) if width / (n * power) <= max_steps)


def _round_logs(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [float(f"{n}e{power}") for power in range(first, last + 1) for n in (1, 2, 5)]


def _is_within(value: float, scale: Scale) -> bool:
    return scale.low * (1 - 1e-9) <= value <= scale.high * (1 + 1e-9)


def _leading_digit(value: float) -> int:
    return round(value / 10.0 ** math.floor(math.log10(value) + 1e-9))


def element(name: str, *children: Markup | str, **attributes: Number | str | None) -> Markup:
    """Write an element; `_` in an attribute's name becomes `-`, at its end it is removed."""
    attribute_text = Markup("").join(
        Markup(' {}="{}"').format(
            key.rstrip("_").replace("_", "-"), number(value) if _is_number(value) else value
        )
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), attribute_text, inner)  # noqa: S704  escaped above


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def number(value: object) -> str:
    """Format pixels to a tenth."""
    text = f"{float(str(value)):.1f}"
    return text[:-2] if text.endswith(".0") else text


def picture(
    ident: str, title: str, description: str, width: int, height: int, *children: Markup
) -> Markup:
    """Write a picture with a title and description for screen readers."""
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
    """Return the CSS class of a run's colour."""
    return f"s{index % COLOURS}"


def letter(index: int) -> str:
    """Return the letter of a run in figures and tables: A, B, ... Z, R27, ..."""
    return ascii_uppercase[index] if index < len(ascii_uppercase) else f"R{index + 1}"


def mark(index: int, x: float, y: float, size: float = 4.5) -> Markup:
    """Draw a run's mark, whose shape identifies the run without its colour."""
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
    x_ticks: Sequence[float] | None = None,
) -> Markup:
    """Draw the grid of two scales with labels; `x_ticks` replace the round values of `x`."""
    parts = []
    for value in ticks(y):
        parts.append(rule(x.start, y(value), x.end, y(value), "grid"))
        parts.append(text(y_text(value), x.start - 6, y(value) + 3.5, anchor="end", kind="tick"))
    for value in ticks(x) if x_ticks is None else x_ticks:
        parts.append(rule(x(value), y.start, x(value), y.end, "grid"))
        parts.append(text(x_text(value), x(value), y.start + 15, anchor="middle", kind="tick"))
    parts.append(rule(x.start, y.start, x.end, y.start, "axis"))
    parts.append(text(x_label, (x.start + x.end) / 2, y.start + 31, anchor="middle", kind="label"))
    parts.append(text(y_label, x.start, y.end - 8, kind="label"))
    return Markup("").join(parts)
