"""Java."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import BRACED, KEYWORDS, TYPED, any_of

parse = Language(
    any_of(KEYWORDS, TYPED, BRACED),
    ("//", "/*", "*"),
    grammar=("tree_sitter_java", "language"),
    kinds=(
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
        "method_declaration",
        "constructor_declaration",
    ),
).parse
