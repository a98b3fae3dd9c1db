"""Comments on slides, in both formats of PowerPoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ragkit_ingest.parse.dates import iso_date
from ragkit_ingest.parse.office.archive import Archive, attribute, child, children, local
from ragkit_ingest.parse.office.remarks import Remark

if TYPE_CHECKING:
    from lxml.etree import _Element as Element


def authors(archive: Archive, main: str) -> dict[str, str]:
    """Map the ids of those who comment to their names."""
    names: dict[str, str] = {}
    for kind in ("commentAuthors", "authors"):
        for name in archive.parts(main, kind):
            root = archive.xml(name)
            for person in root if root is not None else ():
                names[attribute(person, "id") or ""] = attribute(person, "name") or ""
    return names


def slide_remarks(archive: Archive, slide: str, people: Mapping[str, str]) -> Iterator[Remark]:
    """Give a slide's comments in order, each with its replies after it."""
    for name in archive.parts(slide, "comments"):
        root = archive.xml(name)
        for item in root if root is not None else ():
            if local(item) == "cm":
                yield from _remark(item, people)
                for reply in children(item, "replyLst"):
                    yield from _remark(reply, people)


def _remark(item: Element, people: Mapping[str, str]) -> Iterator[Remark]:
    body = child(item, "text")
    body = body if body is not None else child(item, "txBody")
    paragraphs = [part for part in body if local(part) == "p"] if body is not None else []
    lines = (_text(part) for part in paragraphs or ([] if body is None else [body]))
    text = "\n".join(line for line in lines if line)
    if text:
        author = people.get(attribute(item, "authorId") or "", "")
        time = attribute(item, "dt") or attribute(item, "created") or ""
        yield Remark(text, author, iso_date(time))


def _text(element: Element) -> str:
    return "".join(str(part) for part in element.itertext()).strip()
