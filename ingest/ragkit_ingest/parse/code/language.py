"""What a programming language's definitions look like, and how its files are parsed.

A grammar finds them where one is installed, the lines themselves otherwise. It knows nothing of
any one language.
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
    """One language: `definition` matches how a line begins that defines something, up to the name.

    `comments` are what a line begins with that speaks of the definition below it. With `flat`, a
    definition reaches to the next one, otherwise its lines are indented more than its first.
    `grammar` is a module of a tree-sitter grammar, and the function in it; `kinds` are its nodes
    that define something. `reader` knows better than both, and returns None if it cannot read.
    """

    definition: re.Pattern[str]
    comments: tuple[str, ...]
    flat: bool = False
    grammar: tuple[str, str] = ("", "language")
    kinds: tuple[str, ...] = ()
    reader: Callable[[str], list[Definition] | None] | None = None

    def parse(self, data: bytes, options: ParseOptions) -> ParsedText:
        """Parse a source file of any encoding that `decode` knows. Raises IngestError for binary
        data; a source with mistakes in it is read all the same."""
        text = clean(decode(data))
        found = self.reader(text) if self.reader else None
        if found is None and self.kinds:
            found = tree.definitions(text, *self.grammar, self.kinds)
        if found is None:
            found = lines.definitions(text, self.definition, self.comments, flat=self.flat)
        return ParsedText(text, tuple(blocks(text, found, self.comments)))
