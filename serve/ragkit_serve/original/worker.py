"""The program of the process that draws a page: limits itself, takes one PDF, answers, and ends.

A process of its own for each page: one that a hostile file has taken over sees no other document.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ragkit.system import limits
from ragkit_serve.original.quote_matching import Quote

# A request is JSON ("page", "draw", "quotes"), then the file up to the end of input; an answer is
# JSON, then the picture, if one is wanted. This stands before either: bytes of the JSON.
FRAME: Final = struct.Struct("<Q")


def main(arguments: Sequence[str]) -> None:
    """Answer one request with the limits given as arguments: memory in MB, CPU seconds."""
    memory_mb, cpu_s = map(int, arguments)
    requests, answers = limits.take_pipes()
    limits.die_with_parent()
    limits.limit(memory_mb)
    limits.limit_cpu(cpu_s)
    try:
        (size,) = FRAME.unpack(requests.read(FRAME.size))
        drawing = json.loads(requests.read(size))
        fields, picture = answer(requests.read(), drawing)
    except MemoryError:
        fields, picture = {"error": "memory"}, b""
    body = json.dumps(fields).encode()
    answers.write(FRAME.pack(len(body)) + body)
    answers.write(picture)
    answers.flush()


def answer(data: bytes, drawing: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Draw a page of a PDF and find quotations on it: what is told of it, and its picture."""
    import pypdfium2

    from ragkit_serve.original.page import draw, marks

    try:
        document = pypdfium2.PdfDocument(data)
        pages = len(document)
        if not 0 < drawing["page"] <= pages:
            return {"error": "page", "pages": pages}, b""
        page = document[drawing["page"] - 1]
        width, height = page.get_size()
        if not (0 < width < float("inf") and 0 < height < float("inf")):
            return {"error": "damaged"}, b""
        quotes = [Quote(*quote) for quote in drawing["quotes"]]
        fields = {"pages": pages, "size": [width, height], "marks": marks(page, quotes)}
        return fields, draw(page) if drawing["draw"] else b""
    except pypdfium2.PdfiumError:
        return {"error": "damaged"}, b""


if __name__ == "__main__":
    main(sys.argv[1:])
