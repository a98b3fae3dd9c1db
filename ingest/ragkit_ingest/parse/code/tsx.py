"""TypeScript with elements in it (.tsx)."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import ARROW, BRACED, KEYWORDS, any_of

parse = Language(
    any_of(KEYWORDS, ARROW, BRACED),
    ("//", "/*", "*"),
    grammar=("tree_sitter_typescript", "language_tsx"),
    kinds=(
        "function_declaration",
        "generator_function_declaration",
        "class_declaration",
        "abstract_class_declaration",
        "method_definition",
        "interface_declaration",
        "enum_declaration",
        "type_alias_declaration",
        "internal_module",
        "module",
        "lexical_declaration",
    ),
).parse
