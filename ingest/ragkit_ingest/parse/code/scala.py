"""Scala."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import KEYWORDS, any_of

parse = Language(
    any_of(KEYWORDS),
    ("//", "/*", "*"),
    grammar=("tree_sitter_scala", "language"),
    kinds=(
        "class_definition",
        "object_definition",
        "trait_definition",
        "enum_definition",
        "function_definition",
        "given_definition",
        "extension_definition",
    ),
).parse
