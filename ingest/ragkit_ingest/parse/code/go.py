"""Go."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import KEYWORDS, any_of

parse = Language(
    any_of(KEYWORDS),
    ("//", "/*", "*"),
    grammar=("tree_sitter_go", "language"),
    kinds=(
        "function_declaration",
        "method_declaration",
        "type_declaration",
    ),
).parse
