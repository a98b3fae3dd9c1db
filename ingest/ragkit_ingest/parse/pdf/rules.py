"""The horizontal and vertical lines drawn on a PDF page, which rule tables.

Thin rectangles count as lines, outlined ones as four.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit_ingest.parse.pdf.lines import Box, turned_box

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_MAX_OBJECTS = 20_000  # arbitrary; a page of more is a drawing
_MAX_PATHS = 3000
_MAX_SEGMENTS = 500  # in one path: a table's whole grid may be one, a map's outline is longer
_THIN = 3.0  # points; ruling lines are thinner
_SHORT = 4.0  # points; shorter lines rule nothing
_MAX_RULES = 400  # arbitrary; more is a drawing
_NEAR = 2.0  # points: lines so near each other meet


@dataclass(frozen=True, slots=True)
class Rule:
    """A line at one place across its direction, from `begin` to `end` along it."""

    at: float
    begin: float
    end: float


def rules(page: PdfPage, turn: int) -> tuple[list[Rule], list[Rule]]:
    """Give the level and upright lines of a page that is read turned by an angle; in order.

    Those that continue each other are joined. Both are empty where there are too many to be a
    table's.
    """
    level: list[Rule] = []
    upright: list[Rule] = []
    for box in _boxes(page):
        left, right, bottom, top = turned_box(turn, *box)
        if top - bottom <= _THIN and right - left >= _SHORT:
            level.append(Rule((bottom + top) / 2, left, right))
        elif right - left <= _THIN and top - bottom >= _SHORT:
            upright.append(Rule((left + right) / 2, bottom, top))
    level, upright = _joined(level), _joined(upright)
    return (level, upright) if len(level) + len(upright) <= _MAX_RULES else ([], [])


def _boxes(page: PdfPage) -> Iterator[Box]:
    """Give the boxes (left, right, bottom, top) of what is drawn: of paths, of rectangles' sides,
    and of each line of longer paths."""
    from pypdfium2 import raw

    handle, paths = page.raw, 0
    bounds = [ctypes.c_float() for _ in range(4)]
    left, bottom, right, top = bounds
    pointers = [ctypes.byref(value) for value in bounds]
    for index in range(min(raw.FPDFPage_CountObjects(handle), _MAX_OBJECTS)):
        page_object = raw.FPDFPage_GetObject(handle, index)
        if raw.FPDFPageObj_GetType(page_object) != raw.FPDF_PAGEOBJ_PATH:
            continue
        paths += 1
        if paths > _MAX_PATHS:
            return
        if not raw.FPDFPageObj_GetBounds(page_object, *pointers):
            continue
        box = (left.value, right.value, bottom.value, top.value)
        if min(box[1] - box[0], box[3] - box[2]) <= _THIN:
            yield box
        elif _is_outlined(page_object):
            yield from _sides(page_object)


def _is_outlined(path: object) -> bool:
    from pypdfium2 import raw

    fill, stroke = ctypes.c_int(), ctypes.c_int()
    return bool(
        raw.FPDFPath_GetDrawMode(path, ctypes.byref(fill), ctypes.byref(stroke)) and stroke.value
    )


def _sides(path: object) -> Iterator[Box]:
    """Give the straight pieces of a path, in the page's places."""
    from pypdfium2 import raw

    count = raw.FPDFPath_CountSegments(path)
    matrix = raw.FS_MATRIX()
    if count > _MAX_SEGMENTS or not raw.FPDFPageObj_GetMatrix(path, ctypes.byref(matrix)):
        return
    x, y = ctypes.c_float(), ctypes.c_float()
    last = begin = (0.0, 0.0)
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        raw.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        at = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            begin = at
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield _box(last, at)
        last = at
        if raw.FPDFPathSegment_GetClose(segment):
            yield _box(at, begin)


def _box(first: tuple[float, float], second: tuple[float, float]) -> Box:
    return (
        min(first[0], second[0]),
        max(first[0], second[0]),
        min(first[1], second[1]),
        max(first[1], second[1]),
    )


def _joined(fragments: list[Rule]) -> list[Rule]:
    """Join lines at one place that touch or continue each other."""
    places: list[list[Rule]] = []
    for rule in sorted(fragments, key=lambda rule: rule.at):
        if places and rule.at - places[-1][0].at <= _NEAR:
            places[-1].append(rule)
        else:
            places.append([rule])
    joined: list[Rule] = []
    for place in places:
        at = sum(rule.at for rule in place) / len(place)
        run: Rule | None = None
        for rule in sorted(place, key=lambda rule: rule.begin):
            if run and rule.begin - run.end <= _NEAR:
                run = Rule(at, run.begin, max(run.end, rule.end))
                continue
            if run:
                joined.append(run)
            run = Rule(at, rule.begin, rule.end)
        if run:
            joined.append(run)
    return joined
