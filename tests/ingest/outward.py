"""Files that name another file or an address, which nothing may open, made on the spot."""

from collections.abc import Mapping

from tests.ingest.poison import RELATION, WORDS, docx, epub, mail, zipped


def outside(target: str, inner: str = "<d>&x;</d>") -> str:
    """An entity that lies elsewhere, and a document type that does."""
    return (
        f'<!DOCTYPE d SYSTEM "{target}" [<!ENTITY x SYSTEM "{target}">'
        f'<!ENTITY % y SYSTEM "{target}"> %y;]>{inner}'
    )


def included(target: str) -> str:
    """DocBook that includes another file, and shows one."""
    return (
        '<article xmlns="http://docbook.org/ns/docbook"'
        f' xmlns:xi="http://www.w3.org/2001/XInclude"><title>Included</title>'
        f'<?xml-stylesheet href="{target}"?><para>Safe.</para>'
        f'<xi:include href="{target}" parse="text"/>'
        f'<para><inlinemediaobject><textobject><textdata fileref="{target}"/></textobject>'
        "</inlinemediaobject></para></article>"
    )


def page(target: str) -> str:
    """A page that would load things from everywhere if it were shown."""
    return (
        f'<html><head><base href="{target}"><link rel=stylesheet href="{target}">'
        f'<meta http-equiv=refresh content="0;url={target}"><script src="{target}"></script>'
        f'</head><body><p>Safe text.</p><img src="{target}"><iframe src="{target}"></iframe>'
        f'<object data="{target}"></object><svg xmlns:xlink="http://www.w3.org/1999/xlink">'
        f'<image xlink:href="{target}"/><use xlink:href="{target}"/></svg></body></html>'
    )


def leading_outside(file: str, url: str) -> Mapping[str, bytes | str]:
    """Make files that name a file and an address, which nothing may open."""
    found: dict[str, bytes | str] = {}
    for kind, target in (("file", file), ("http", url)):
        found |= {
            f"entity-{kind}.xml": outside(target),
            f"entity-{kind}.xhtml": outside(target, "<html><body><p>Safe. &x;</p></body></html>"),
            f"entity-{kind}.docx": docx(outside(target, WORDS.format("&x;"))),
            f"entity-{kind}.odt": zipped({"content.xml": outside(target)}),
            f"entity-{kind}.epub": epub(outside(target, "<html><body>&x;</body></html>")),
            f"included-{kind}.xml": included(target),
            f"page-{kind}.html": page(target),
            f"chapter-{kind}.epub": epub(page(target)),
            f"template-{kind}.docx": docx(
                **{
                    "word/_rels/document.xml.rels": f'<Relationships><Relationship Id="a" Type='
                    f'"{RELATION}/attachedTemplate" TargetMode="External" Target="{target}"/>'
                    f'<Relationship Id="b" Type="{RELATION}/comments" TargetMode="External"'
                    f' Target="{target}"/></Relationships>'
                }
            ),
            f"included-{kind}.rst": f"Safe text.\n\n.. include:: {target}\n\n"
            f".. raw:: html\n   :url: {target}\n\n.. csv-table::\n   :url: {target}\n",
            f"included-{kind}.adoc": f"Safe text.\n\ninclude::{target}[]\n",
            f"included-{kind}.org": f'Safe text.\n\n#+INCLUDE: "{target}"\n#+SETUPFILE: {target}\n',
            f"included-{kind}.md": f"Safe text. ![picture]({target})\n",
            f"external-{kind}.eml": mail(
                f'Content-Type: message/external-body; access-type=URL; URL="{target}"\n\n'
                "Content-Type: text/plain\n\nSafe text.\n"
            ),
        }
    return found
