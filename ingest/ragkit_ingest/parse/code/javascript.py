"""JavaScript, JSX."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import ARROW, BRACED, KEYWORDS, any_of

parse = Language(
    any_of(KEYWORDS, ARROW, BRACED),
    ("//", "/*", "*"),
    grammar=("tree_sitter_javascript", "language"),
    kinds=(
        "function_declaration",
        "generator_function_declaration",
        "class_declaration",
        "method_definition",
        "lexical_declaration",
        "variable_declaration",
    ),
).parse
