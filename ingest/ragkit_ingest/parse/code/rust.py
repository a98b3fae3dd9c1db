"""Rust."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import KEYWORDS, any_of

parse = Language(
    any_of(KEYWORDS),
    ("//", "/*", "*", "#["),
    grammar=("tree_sitter_rust", "language"),
    kinds=(
        "function_item",
        "struct_item",
        "enum_item",
        "union_item",
        "trait_item",
        "impl_item",
        "mod_item",
        "macro_definition",
        "type_item",
    ),
).parse
