"""Lua."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import KEYWORDS, any_of

parse = Language(
    any_of(KEYWORDS),
    ("--",),
    grammar=("tree_sitter_lua", "language"),
    kinds=("function_declaration",),
).parse
