"""Compound files made on the spot, and old workbooks (.xls): BIFF8 records in one.

Of the formats only what a reader needs is written: [MS-XLS] 2.4 and [MS-CFB] 2.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

Cell = str | float
_SECTOR = 512
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def workbook(sheets: Mapping[str, Sequence[Sequence[Cell]]], hidden: Sequence[str] = ()) -> bytes:
    """Make a workbook of sheets with rows of cells, some of the sheets hidden."""
    bodies = [_sheet(rows) for rows in sheets.values()]
    names = [_name(sheet) for sheet in sheets]
    head = _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))  # BOF of the workbook
    head += _record(0x42, struct.pack("<H", 1200))  # its code page
    place = len(head) + sum(4 + 6 + len(name) for name in names) + 4
    for sheet, name, body in zip(sheets, names, bodies, strict=True):
        head += _record(0x85, struct.pack("<IBB", place, sheet in hidden, 0) + name)
        place += len(body)
    return compound({"Workbook": head + _record(0x0A, b"") + b"".join(bodies)})


def compound(streams: Mapping[str, bytes]) -> bytes:
    """Put streams into a compound file; each next one is the right sibling of the one before."""
    entries = 1 + len(streams)
    folders = -(-entries * 128 // _SECTOR)  # sectors of the directory
    fat = [_FAT, *range(2, folders + 1), _END]
    directory = _entry("Root Entry", 5, 1, _END, 0)
    body = b""
    for number, (name, stream) in enumerate(streams.items(), 2):
        size = max(len(stream), 4096)  # shorter ones lie elsewhere
        sectors = -(-size // _SECTOR)
        sibling = number if number < entries else _FREE
        directory += _entry(name, 2, _FREE, len(fat), size, sibling)
        fat += [*range(len(fat) + 1, len(fat) + sectors), _END]
        body += stream.ljust(sectors * _SECTOR, b"\0")
    assert len(fat) <= _SECTOR // 4
    fat += [_FREE] * (_SECTOR // 4 - len(fat))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, _END, 0, _END, 0)
    header += struct.pack("<109I", 0, *[_FREE] * 108)
    head = header + struct.pack(f"<{len(fat)}I", *fat)
    return head + directory.ljust(folders * _SECTOR, b"\0") + body


def _entry(name: str, kind: int, child: int, start: int, size: int, sibling: int = _FREE) -> bytes:
    raw = (name + "\0").encode("utf-16-le")
    links = struct.pack("<III", _FREE, sibling, child)
    return (
        raw.ljust(64, b"\0") + struct.pack("<HBB", len(raw), kind, 1) + links + bytes(36)
        + struct.pack("<IQ", start, size)
    )  # fmt: skip


def _sheet(rows: Sequence[Sequence[Cell]]) -> bytes:
    body = _record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            place = struct.pack("<HHH", row, column, 0)
            if isinstance(cell, str):
                text = cell.encode("utf-16-le")
                body += _record(0x204, place + struct.pack("<HB", len(cell), 1) + text)
            else:
                body += _record(0x203, place + struct.pack("<d", cell))
    return body + _record(0x0A, b"")


def _name(sheet: str) -> bytes:
    return struct.pack("<BB", len(sheet), 1) + sheet.encode("utf-16-le")


def _record(kind: int, body: bytes) -> bytes:
    return struct.pack("<HH", kind, len(body)) + body
