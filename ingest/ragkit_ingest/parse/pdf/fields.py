"""The fields of a PDF's form: what is filled in, as lines at the fields' places.

Buttons, signatures, passwords, empty fields and those that are not shown are left out.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ragkit_ingest.parse.pdf.lines import Line, turned_box

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_MAX_FIELDS = 2000  # arbitrary, of one page
_MAX_BYTES = 8192  # arbitrary, of a value, in UTF-16
_PASSWORD = 1 << 13  # ISO 32000-2, table 230
_NOT_SHOWN = 1 << 1 | 1 << 5  # table 167: Hidden, NoView
_LINE_HEIGHT = 14.0  # points: of a value, at the top of a higher field
_CHECKED, _UNCHECKED = "[x]", "[ ]"


def open_form(document: PdfDocument) -> None:
    """Prepare a document's fields for `fields`, before any of its pages is read."""
    from pypdfium2 import PdfiumError, raw

    kinds = (raw.FORMTYPE_ACRO_FORM, raw.FORMTYPE_XFA_FOREGROUND)
    if document.get_formtype() not in kinds:
        return
    logger = logging.getLogger("pypdfium2._helpers.document")  # it warns of XFA, which is not read
    was_disabled, logger.disabled = logger.disabled, True
    try:
        document.init_forms()
    except PdfiumError:
        return  # a broken form costs its fields, not the text
    finally:
        logger.disabled = was_disabled


def fields(document: PdfDocument, page: PdfPage, turn: int) -> list[Line]:
    """Give the fields that say something of a page that is read turned by an angle.

    A field is written as "name: value", or with a box before its name.
    """
    if not document.formenv:
        return []
    return list(_fields(document.formenv.raw, page, turn))


def _fields(form: object, page: PdfPage, turn: int) -> Iterator[Line]:
    from pypdfium2 import raw

    rectangle = raw.FS_RECTF()
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), _MAX_FIELDS)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            if raw.FPDFAnnot_GetSubtype(annotation) != raw.FPDF_ANNOT_WIDGET:
                continue
            text = _text(form, annotation)
            if text and raw.FPDFAnnot_GetRect(annotation, ctypes.byref(rectangle)):
                sides = rectangle.left, rectangle.right, rectangle.bottom, rectangle.top
                yield _line(text, *turned_box(turn, *sides))
        finally:
            raw.FPDFPage_CloseAnnot(annotation)


def _text(form: object, annotation: object) -> str:
    from pypdfium2 import raw

    if raw.FPDFAnnot_GetFlags(annotation) & _NOT_SHOWN:
        return ""
    name = _string(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    name = name or _string(raw.FPDFAnnot_GetFormFieldName, form, annotation)
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind == raw.FPDF_FORMFIELD_CHECKBOX:
        mark = _CHECKED if raw.FPDFAnnot_IsChecked(form, annotation) else _UNCHECKED
        return f"{mark} {name}".strip()
    if kind == raw.FPDF_FORMFIELD_RADIOBUTTON:
        if not raw.FPDFAnnot_IsChecked(form, annotation):
            return ""
        value = _string(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation)
    elif kind in {
        raw.FPDF_FORMFIELD_TEXTFIELD,
        raw.FPDF_FORMFIELD_COMBOBOX,
        raw.FPDF_FORMFIELD_LISTBOX,
    }:
        is_secret = raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD
        value = "" if is_secret else _string(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    else:
        return ""
    if not value:
        return ""
    return f"{name.rstrip(':：')}: {value}" if name else value


def _string(ask: Callable[..., int], form: object, annotation: object) -> str:
    buffer = (ctypes.c_ushort * (_MAX_BYTES // 2))()
    size = ask(form, annotation, buffer, _MAX_BYTES)
    if not 2 < size <= _MAX_BYTES:
        return ""
    return " ".join(bytes(buffer)[: size - 2].decode("utf-16-le", "replace").split())


def _line(text: str, left: float, right: float, bottom: float, top: float) -> Line:
    height = min(top - bottom, _LINE_HEIGHT)
    step = (right - left) / max(len(text), 1)
    spaces = [left + step * place for place, char in enumerate(text) if char == " "]
    gaps = tuple((at, at) for at in spaces)
    # As a row of a table, so that fields below each other stay lines.
    return Line(text, left, right, top - height, height, gaps, has_gap=True)
