"""Parse Jupyter notebooks (.ipynb, formats 3 and 4): Markdown cells as Markdown, code as code
blocks, and what was printed below it.

Pictures and other rich outputs are left out and counted; long outputs are cut.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.assembly import Assembly
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.html import page
from ragkit_ingest.parse.markup.markdown import blocks
from ragkit_ingest.parse.options import ParseOptions

_MAX_OUTPUT_CHARS = 4000  # arbitrary; two screens: logs of a training run are no text
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,32}[A-Za-z]")  # a terminal's colours
_PICTURE = re.compile(
    r"!\[([^\[\]\n]{0,300})\]\((?:data|attachment):[^)\s!]*+(?:!(?!\[)[^)\s!]*+)*+\)"
)
_PRINTED = ("text/markdown", "text/plain", "text/html", "text/latex")  # the first there is is kept


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a notebook. Raises IngestError for what is none."""
    try:
        notebook = json.loads(decode(data))
    except (ValueError, RecursionError) as error:
        raise IngestError("parse", "damaged notebook: it is not JSON") from error
    assembly = Assembly()
    for cell in _cells(notebook):
        kind, source = cell.get("cell_type"), _joined(cell.get("source", cell.get("input", "")))
        if kind == "markdown":
            _add_markdown(assembly, source)
        elif kind == "code":
            _add_code(assembly, source)
            for output in _dicts(cell.get("outputs")):
                _add_output(assembly, output, options)
        elif kind == "heading":
            _add_markdown(assembly, f"{'#' * _level(cell)} {source}")
        elif kind == "raw":
            _add_paragraph(assembly, source)
    title, metadata = _metadata(notebook.get("metadata"))
    return assembly.result(title=title, metadata=metadata)


def _level(cell: Mapping[str, Any]) -> int:
    level = cell.get("level")
    return level if isinstance(level, int) and level in range(1, 7) else 1


def _cells(notebook: object) -> Iterator[Mapping[str, Any]]:
    """Give the cells; format 3 has them in worksheets."""
    if not isinstance(notebook, dict):
        raise IngestError("parse", "not a notebook: it is no JSON object")
    sheets = [notebook, *_dicts(notebook.get("worksheets"))]
    if not any(isinstance(sheet.get("cells"), list) for sheet in sheets):
        raise IngestError("parse", "not a notebook: it has no cells")
    for sheet in sheets:
        yield from _dicts(sheet.get("cells"))


def _add_output(assembly: Assembly, output: Mapping[str, Any], options: ParseOptions) -> None:
    """Add what a cell printed: text as it is, of richer things their text."""
    kind = output.get("output_type")
    if kind in {"stream", "error", "pyerr"}:
        text = _joined(output.get("text", ""))
        if kind != "stream":
            text = f"{output.get('ename', '')}: {output.get('evalue', '')}"
        _add_code(assembly, _cut(assembly, _ESCAPES.sub("", text)))
        return
    rich = output.get("data")
    rich = rich if isinstance(rich, dict) else {"text/plain": output.get("text", "")}
    media_type = next((name for name in _PRINTED if name in rich), "")
    if any(name.startswith("image/") for name in rich) or set(output) & {"png", "jpeg", "svg"}:
        assembly.notes["images"] += 1
        return  # its text says only what kind of object it is
    text = _joined(rich.get(media_type, ""))
    if media_type == "text/html":
        assembly.add(page.parse_part(codecs.BOM_UTF8 + text.encode("utf-8", "replace"), options))
    elif media_type == "text/markdown":
        _add_markdown(assembly, _cut(assembly, text))
    else:
        _add_code(assembly, _cut(assembly, _ESCAPES.sub("", text)))


def _add_markdown(assembly: Assembly, source: str) -> None:
    text, pictures = _PICTURE.subn(r"\1", clean(source))
    if pictures:
        assembly.notes["images"] += pictures
    assembly.add(ParsedText(text, tuple(blocks(text))))


def _add_code(assembly: Assembly, source: str) -> None:
    builder = Builder()
    builder.code(source)
    assembly.add(builder.result())


def _add_paragraph(assembly: Assembly, source: str) -> None:
    builder = Builder()
    builder.paragraph(source)
    assembly.add(builder.result())


def _cut(assembly: Assembly, text: str) -> str:
    if len(text) <= _MAX_OUTPUT_CHARS:
        return text
    assembly.notes["cut outputs"] += 1
    return text[:_MAX_OUTPUT_CHARS].rpartition("\n")[0] or text[:_MAX_OUTPUT_CHARS]


def _metadata(entry: object) -> tuple[str, dict[str, str]]:
    """Read title, authors and the programming language, where the notebook names them."""
    metadata = entry if isinstance(entry, dict) else {}
    kernel, authors = metadata.get("kernelspec"), metadata.get("authors")
    names = [str(author.get("name", "")) for author in _dicts(authors)]
    values = {
        "author": ", ".join(name for name in names if name)[:200],
        "kernel": str(kernel.get("display_name", ""))[:200] if isinstance(kernel, dict) else "",
    }
    title = metadata.get("title", "")
    stated = {key: value for key, value in values.items() if value}
    return title if isinstance(title, str) else "", stated


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _joined(value: object) -> str:
    """Read a text that notebooks write as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""
