"""Parse source files of one language: how its definitions look, and who finds them.

Definitions come from a tree-sitter grammar where one is installed, and from the lines otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.code import lines, tree
from ragkit_ingest.parse.code.outline import Definition, blocks
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.options import ParseOptions


@dataclass(frozen=True, slots=True)
class Language:
    """A language: `definition` matches the first line of a definition, from its start to the name.

    `comments` are the beginnings of lines that belong to the definition below them. With `flat`, a
    definition reaches to the next one; otherwise its lines are indented more than its first.
    `grammar` is a module of a tree-sitter grammar, and the function in it; `kinds` are its nodes
    that define something. `reader` comes first and returns None for source that it cannot read.
    """

    definition: re.Pattern[str]
    comments: tuple[str, ...]
    flat: bool = False
    grammar: tuple[str, str] = ("", "language")
    kinds: tuple[str, ...] = ()
    reader: Callable[[str], list[Definition] | None] | None = None

    def parse(self, data: bytes, options: ParseOptions) -> ParsedText:
        """Parse a source file of any encoding that `decode` knows, with mistakes in it or not.

        Raises IngestError for binary data.
        """
        text = clean(decode(data))
        definitions = self.reader(text) if self.reader else None
        if definitions is None and self.kinds:
            definitions = tree.definitions(text, *self.grammar, self.kinds)
        if definitions is None:
            definitions = lines.definitions(text, self.definition, self.comments, flat=self.flat)
        return ParsedText(text, tuple(blocks(text, definitions, self.comments)))
