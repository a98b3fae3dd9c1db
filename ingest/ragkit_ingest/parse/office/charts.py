"""Read the figures of an Office chart from the cached copy in its part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit_ingest.parse.office.archive import attribute, child, local, number

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_MAX_POINTS = 100_000  # arbitrary; points are numbered by the file itself


def chart_title(root: Element) -> str:
    """Give a chart's own title, or ""."""
    return _title_text(child(root, "chart"))


def _title_text(element: Element | None) -> str:
    title = child(element, "title")
    items = title.iter() if title is not None else ()
    texts = (item.text or "" for item in items if local(item) == "t")
    return " ".join("".join(texts).split())


def chart_rows(root: Element) -> list[list[str]]:
    """Give a chart as a table: a column per series, a row per category.

    What the axis of the categories is called stands above them.
    """
    series = [item for item in root.iter() if local(item) == "ser"]
    if not series:
        return []
    names = [" ".join(_points(child(item, "tx")).values()) for item in series]
    categories: dict[int, str] = {}
    columns: list[dict[int, str]] = []
    for item in series:
        labels, values = child(item, "cat"), child(item, "val")
        categories |= _points(labels if labels is not None else child(item, "xVal"))
        columns.append(_points(values if values is not None else child(item, "yVal")))
    places = sorted({place for column in [categories, *columns] for place in column})
    rows = [
        [categories.get(place, ""), *(column.get(place, "") for column in columns)]
        for place in places
    ]
    return [[_axis_title(root), *names], *rows]


def _axis_title(root: Element) -> str:
    axes = (item for item in root.iter() if local(item) in {"catAx", "dateAx"})
    return next((text for text in map(_title_text, axes) if text), "")


def _points(element: Element | None) -> dict[int, str]:
    """Read cached points by their place; of several levels of labels the innermost comes first."""
    points: dict[int, str] = {}
    for item in element.iter() if element is not None else ():
        value = child(item, "v") if local(item) == "pt" else None
        place = number(attribute(item, "idx"))
        if value is not None and place < _MAX_POINTS:
            text = (value.text or "").strip()
            points[place] = f"{text} {points[place]}" if place in points else text
        elif local(item) == "v" and local(item.getparent()) == "tx":
            points[0] = (item.text or "").strip()
    return points
