"""Parse reStructuredText with docutils' own parser: sections, lists, tables, code, notes.

Includes and raw passages are switched off and counted, nothing is read from disk. What only Sphinx
knows is kept as text: a directive's words and content, a role's text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.flow import Flow
from ragkit_ingest.parse.options import ParseOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragkit_ingest.parse.flow import Kind

_MAX_LINE_CHARS = 100_000  # arbitrary; docutils' own limit of 10,000 is short for Chinese
_MAX_REPLACED_CHARS = 1_000_000  # arbitrary; of all replacements together
_LEFT_OUT = re.compile(r"directive disabled|URL access deactivated")  # as docutils says it
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_KINDS: dict[str, Kind] = {
    "bullet_list": "list",
    "enumerated_list": "list",
    "list_item": "item",
    "literal_block": "code",
    "doctest_block": "code",
    "math_block": "code",
    "table": "table",
    "row": "row",
    "entry": "cell",
    "comment": "drop",
    "substitution_definition": "drop",
    "system_message": "drop",
    "raw": "drop",
    "pending": "drop",
    "meta": "drop",
    "colspec": "drop",
}
_INLINE = frozenset(
    "emphasis strong literal reference target footnote_reference citation_reference inline"
    " title_ref subscript superscript abbreviation acronym math problematic generated image label"
    " field_name field_body line option_group option description option_string"
    " option_argument substitution_reference classifier".split()
)


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse reStructuredText. Raises IngestError for binary data or hopeless nesting."""
    text = clean(decode(data))
    try:
        document = _document(text)
    except RecursionError as error:
        raise IngestError("parse", "lists or quotations nested too deeply") from error
    walk = _Walk(document)
    walk.run(document)
    builder = Builder()
    walk.flow.end().write(builder)
    parsed = builder.result(metadata=walk.metadata)
    left_out = sum(bool(_LEFT_OUT.search(text)) for text in walk.messages)
    notes = {"includes": left_out} if left_out else {}
    return replace(parsed, notes=notes)


def _document(text: str) -> Any:
    """Build docutils' tree, without its transforms: they follow references, which can explode."""
    from docutils import frontend, utils
    from docutils.parsers import rst

    from ragkit_ingest.parse.markup.sphinx import accept_directives, inliner

    accept_directives(text)
    parser = rst.Parser(inliner=inliner())
    settings = frontend.get_default_settings(parser)
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.report_level = settings.halt_level = 5
    settings.warning_stream = False
    settings.syntax_highlight = "none"
    settings.line_length_limit = _MAX_LINE_CHARS
    document = utils.new_document("text", settings)
    parser.parse(text, document)
    if any(len(line) > _MAX_LINE_CHARS for line in text.split("\n")):
        raise IngestError("parse", f"a line of more than {_MAX_LINE_CHARS} characters")
    return document


class _Walk:
    """Goes through a tree without recursion and says of each node what it is."""

    def __init__(self, document: Any) -> None:
        self.flow = Flow()
        self.metadata: dict[str, str] = {}
        self.messages: list[str] = []
        self._replacements = {
            name: " ".join(node.astext().split())
            for name, node in document.substitution_defs.items()
        }
        self._spare = _MAX_REPLACED_CHARS
        self._depth = 0  # of sections

    def run(self, root: Any) -> None:
        """Walk a whole tree."""
        waiting: list[Any] = [iter([root])]
        opened: list[Any] = []
        while waiting:
            node = next(waiting[-1], None)
            if node is None:
                waiting.pop()
                if opened:
                    self._leave(opened.pop())
                continue
            if node.tagname == "#text":
                self.flow.text(str(node))
                continue
            self._enter(node)
            opened.append(node)
            waiting.append(self._inside(node))

    def _inside(self, node: Any) -> Iterator[Any]:
        """Give what is to be read in a node; some say what they have at once."""
        name = node.tagname
        if name == "image":
            self.flow.text(f" {node.get('alt', '')} ")
        elif name == "substitution_reference":
            replacement = self._replacements.get(node.get("refname", ""), node.astext())
            self._spare -= len(replacement)
            self.flow.text(replacement if self._spare > 0 else node.astext())
            return iter(())
        elif name == "problematic":
            self.flow.text(node.astext())
            return iter(())
        elif name in {"system_message", "pending", "raw"}:
            return iter(())
        return iter(list(node.children))

    def _enter(self, node: Any) -> None:
        name = node.tagname
        parent = getattr(node.parent, "tagname", "")
        if name == "section":
            self._depth += 1
        elif name == "system_message":
            self.messages.append(node.astext())
        if name == "title" and parent == "section":
            self.flow.open("heading", level=self._depth)
        elif name == "entry":
            columns, rows = int(node.get("morecols", 0)) + 1, int(node.get("morerows", 0)) + 1
            header = getattr(node.parent.parent, "tagname", "") == "thead"
            self.flow.open("cell", columns=columns, rows=rows, header=header)
        elif name in {"footnote_reference", "citation_reference", "label"}:
            self.flow.open("inline")
            self.flow.text("[" if node.children else "[#]")
        elif name == "field_list" and not self.metadata:
            self._read_fields(node)
            self.flow.open("block")
        else:
            kind: Kind = "inline" if name in _INLINE else _KINDS.get(name, "block")
            # A label, a field's name or a marker stands before the paragraph that follows it.
            if name == "paragraph" and parent in {
                "footnote",
                "citation",
                "field_body",
                "description",
            }:
                kind = "inline" if _is_first(node) else kind
            self.flow.open(kind, ordered=name == "enumerated_list")

    def _leave(self, node: Any) -> None:
        name = node.tagname
        if name in {"footnote_reference", "citation_reference", "label"} and node.children:
            self.flow.text("] " if name == "label" else "]")
        elif name == "field_name":
            self.flow.text(": ")
        elif name in {"term", "option_group", "option"}:
            self.flow.text(" ")
        elif name == "line":
            self.flow.line_break()
        self.flow.close()
        if name == "section":
            self._depth -= 1

    def _read_fields(self, node: Any) -> None:
        """Read author and date where fields stand at the beginning."""
        if self._depth > 1:
            return
        for field in node.children:
            parts = [part.astext().strip() for part in field.children]
            if len(parts) == 2 and parts[0].lower() in {"author", "authors"}:
                self.metadata["author"] = " ".join(parts[1].split())[:200]
            elif len(parts) == 2 and parts[0].lower() == "date" and _DATE.match(parts[1]):
                self.metadata["created"] = parts[1][:10]


def _is_first(node: Any) -> bool:
    """Say whether nothing but a label stands before a node."""
    first = next((child for child in node.parent.children if child.tagname != "label"), None)
    return first is node
