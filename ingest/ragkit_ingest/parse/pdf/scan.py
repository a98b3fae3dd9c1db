"""Recognise pages that are pictures, and render them for OCR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_MAX_SIDE = 2000  # pixels: what OCR is at its best with, and would reduce the picture to
_DPI = 200  # as text is commonly scanned; more only takes time
_POINTS = 72
_MAX_OBJECTS = 2000
_WHOLE = 0.4  # of a page: a picture so large may be all that is on it


def is_drawn(page: PdfPage) -> bool:
    """Say whether anything at all is on a page."""
    from pypdfium2 import raw

    return bool(raw.FPDFPage_CountObjects(page.raw) > 0)


def is_picture(page: PdfPage) -> bool:
    """Say whether pictures cover much of a page."""
    from pypdfium2 import PdfiumError, raw

    width, height = page.get_size()
    covered = 0.0
    for index in range(min(raw.FPDFPage_CountObjects(page.raw), _MAX_OBJECTS)):
        page_object = raw.FPDFPage_GetObject(page.raw, index)
        kind = raw.FPDFPageObj_GetType(page_object)
        if kind == raw.FPDF_PAGEOBJ_FORM:
            return True  # what is in it is not looked into
        if kind == raw.FPDF_PAGEOBJ_IMAGE:
            covered += _area(page_object)
    if not width * height > 0:
        raise PdfiumError("a page without a size")
    return bool(covered >= _WHOLE * width * height)


def _area(page_object: object) -> float:
    import ctypes

    from pypdfium2 import raw

    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not raw.FPDFPageObj_GetBounds(page_object, *map(ctypes.byref, (left, bottom, right, top))):
        return 0.0
    return float(max(right.value - left.value, 0) * max(top.value - bottom.value, 0))


def picture(page: PdfPage) -> Any:
    """Draw a page: an array of height x width x 3, blue first."""
    scale = min(_DPI / _POINTS, _MAX_SIDE / max(*page.get_size(), 1.0))
    bitmap = page.render(scale=scale)
    try:
        return bitmap.to_numpy().copy()
    finally:
        bitmap.close()
