"""Comments on the cells of a workbook: notes and threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ragkit_ingest.parse.dates import iso_date
from ragkit_ingest.parse.office.archive import Archive, child, children
from ragkit_ingest.parse.office.remarks import Remark

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_THREADED = "[Threaded comment]"  # a copy for older programs, with an advertisement in it


def authors(archive: Archive, main: str) -> dict[str, str]:
    """Map the ids of those who comment to their names."""
    names: dict[str, str] = {}
    for name in archive.parts(main, "person"):
        root = archive.xml(name)
        for person in root if root is not None else ():
            names[person.get("id") or ""] = person.get("displayName") or ""
    return names


def sheet_remarks(archive: Archive, part: str, people: Mapping[str, str]) -> Iterator[Remark]:
    """Give a sheet's comments in the order of the file."""
    for name in archive.parts(part, "threadedComment"):
        root = archive.xml(name)
        for item in root if root is not None else ():
            author = people.get(item.get("personId") or "", "")
            yield from _remark(item, author, iso_date(item.get("dT") or ""))
    for name in archive.parts(part, "comments"):
        root = archive.xml(name)
        named = [item.text or "" for item in children(root, "authors")]
        for item in children(root, "commentList"):
            index = item.get("authorId") or ""
            author = named[int(index)] if index.isdigit() and int(index) < len(named) else ""
            yield from _remark(item, author, "")


def _remark(item: Element, author: str, time: str) -> Iterator[Remark]:
    text = child(item, "text")
    content = "" if text is None else "".join(str(part) for part in text.itertext()).strip()
    if content and _THREADED not in content:
        yield Remark(content, author, time, item.get("ref") or "?")
