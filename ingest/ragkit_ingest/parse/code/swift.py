"""Swift."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import KEYWORDS, any_of

parse = Language(
    any_of(KEYWORDS),
    ("//", "/*", "*"),
    grammar=("tree_sitter_swift", "language"),
    kinds=(
        "class_declaration",
        "protocol_declaration",
        "function_declaration",
        "init_declaration",
    ),
).parse
