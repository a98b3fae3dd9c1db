"""Let docutils read what only Sphinx and its extensions know: unknown directives and roles become
their text.

docutils keeps directives by name for the whole process; only names that it does not know are added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles, states
from docutils.parsers.rst.languages import en

_DIRECTIVE = re.compile(
    r"^[ \t]*\.\.[ \t]{1,80}(?:\|[^|\n]{1,80}\|[ \t]{1,80})?([\w:.+-]{1,80})::", re.M
)
_INLINE_CHARS = 1000  # arbitrary; few paragraphs are longer
_MAX_NAMES = 500  # arbitrary; of unknown directives in a file
_DROPPED = frozenset("toctree index highlight currentmodule tabularcolumns sectionauthor".split())
# docutils knows the first four with fewer options, and leaves a block with an unknown one out.
_OWN = ("code", "code-block", "sourcecode", "math")
_CODE = frozenset(_OWN) | frozenset(
    "testcode testoutput prompt console ipython code-cell mermaid graphviz".split()
)
_TARGET = re.compile(r"(?:(?<!\s)\s++)?<[^<>]{1,1000}>\s*$")


class _AnyOptions(dict[str, Any]):
    """Takes every option as it is; docutils asks for a conversion by the option's name."""

    def __missing__(self, name: str) -> Any:
        return directives.unchanged

    def __bool__(self) -> bool:
        return True


class _AnyDirective(Directive):  # type: ignore[misc]
    """A directive of which nothing is known: its words are a paragraph, its content follows."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[Any] = _AnyOptions()

    def run(self) -> list[Any]:
        """Make nodes of the directive."""
        name = self.name.rpartition(":")[2].lower()
        if name in _DROPPED:
            return []
        body: list[Any] = []
        if name in _CODE:
            text = "\n".join(self.content)
            return [nodes.literal_block(text, text)]
        if self.arguments:
            text, _ = self.state.inline_text(self.arguments[0], self.lineno)
            body.append(nodes.paragraph("", "", *text))
        content = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, content)
        return [*body, content]


def inliner() -> Any:
    """Make a reader of inline markup that keeps the text of unknown roles, without its target.

    It looks for marks in 1,000 characters at a time, and for no bare addresses: docutils takes
    quadratic time for both. An instance is changed, because docutils' class builds patterns of its
    very own attributes.
    """
    reader = states.Inliner()
    usual, parse_text = reader.interpreted, reader.parse

    def interpreted(rawsource: str, text: str, role: str, lineno: int) -> Any:
        function, _ = roles.role(role, reader.language, lineno, reader.reporter)
        if function is not None:
            return usual(rawsource, text, role, lineno)
        plain = nodes.unescape(text)
        return [nodes.inline(rawsource, _TARGET.sub("", plain).lstrip("~!") or plain)], []

    def parse(text: str, lineno: int, memo: Any, parent: Any) -> Any:
        content: list[Any] = []
        messages: list[Any] = []
        for piece in _pieces(text):
            inner, inner_messages = parse_text(piece, lineno, memo, parent)
            content += inner
            messages += inner_messages
        return content, messages

    def implicit_inline(text: str, lineno: int) -> Any:
        return [nodes.Text(text)] if text else []  # a bare address is text like any other

    reader.interpreted = interpreted
    reader.parse = parse
    reader.implicit_inline = implicit_inline
    return reader


def _pieces(text: str) -> Iterator[str]:
    """Cut a long paragraph at white space: docutils looks for each mark's end in all of it."""
    start = 0
    while len(text) - start > _INLINE_CHARS:
        end = start + _INLINE_CHARS
        space = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
        end = space + 1 if space > start else end
        yield text[start:end]
        start = end
    yield text[start:]


def accept_directives(text: str) -> None:
    """Register the directives in a text that docutils does not know, or not well."""
    names = {match[1].lower() for match in _DIRECTIVE.finditer(text)}
    for name in sorted(names)[:_MAX_NAMES]:
        canonical = en.directives.get(name, name)
        if name in _OWN or canonical not in directives._directive_registry:
            directives.register_directive(name, _AnyDirective)
