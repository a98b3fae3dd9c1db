"""What parsers note about a file, in words for people: what was left out, masked, read by OCR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ragkit.cli.words import say

LEFT_OUT: Final = {
    "boilerplate text": "menus and footers of web pages",
    "boilerplate lines": "lines that repeat in many files",
    "comments": "comments",
    "cut outputs": "ends of long outputs in notebooks",
    "deleted text": "text that its author deleted",
    "drawings": "drawings of TeX sources",
    "formulas without values": "formulas of workbooks without a value",
    "headers and footers": "headers and footers of pages",
    "hidden columns": "hidden columns",
    "hidden rows": "hidden rows",
    "hidden sheets": "hidden sheets",
    "hidden text": "hidden text",
    "images": "pictures in notebooks",
    "includes": "parts that stand in other files",
    "inline images": "pictures in e-mails",
    "inserted text": "insertions that are not accepted yet",
    "invisible characters": "invisible characters",
    "missing chapters": "chapters that the file lacks",
    "pages without text": "pages without text",
    "pictures": "pictures of contacts",
    "raw passages": "parts in another markup",
    "rich text": "texts of e-mails in RTF",
    "tracked changes": "tracked changes",
    "unreadable pages": "pages that cannot be read",
}
MASKED: Final = {
    "masked api_key": "access keys",
    "masked card": "card numbers",
    "masked cn_id": "Chinese identity numbers",
    "masked email": "e-mail addresses",
    "masked iban": "bank accounts",
    "masked phone": "telephone numbers",
    "masked private_key": "private keys",
}
OTHERS: Final = {
    "pages read by OCR": "Read from pictures (OCR): pages ({number})",
    "private data in the address": "Not masked: private data in file names ({number})",
}


def note_lines(notes: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for what was left out, one for what was masked, and one for each other note.

    >>> list(note_lines({"hidden text": 2, "comments": 1}))
    ['Left out of the text: comments (1), hidden text (2)']
    """
    left_out, masked = _listed(LEFT_OUT, notes), _listed(MASKED, notes)
    if left_out:
        yield say("Left out of the text: {parts}", parts=left_out)
    if masked:
        yield say("Masked: {parts}", parts=masked)
    for kind, count in sorted(notes.items()):
        if kind in OTHERS:
            yield say(OTHERS[kind], number=count)
        elif kind not in LEFT_OUT and kind not in MASKED:  # a parser of a plug-in
            yield f"{kind}: {count}"


def _listed(words: Mapping[str, str], notes: Mapping[str, int]) -> str:
    return ", ".join(
        say("{part} ({number})", part=say(words[kind]), number=notes[kind])
        for kind in sorted(notes)
        if kind in words
    )
