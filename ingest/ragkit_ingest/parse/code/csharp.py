"""C#."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import BRACED, KEYWORDS, TYPED, any_of

parse = Language(
    any_of(KEYWORDS, TYPED, BRACED),
    ("//", "/*", "*", "["),
    grammar=("tree_sitter_c_sharp", "language"),
    kinds=(
        "namespace_declaration",
        "class_declaration",
        "struct_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "method_declaration",
        "constructor_declaration",
        "operator_declaration",
    ),
).parse
