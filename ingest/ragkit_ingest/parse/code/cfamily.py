"""C and C++, headers too."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import BRACED, KEYWORDS, TYPED, any_of

parse = Language(
    any_of(KEYWORDS, TYPED, BRACED),
    ("//", "/*", "*", "template"),
    grammar=("tree_sitter_cpp", "language"),
    kinds=(
        "function_definition",
        "class_specifier",
        "struct_specifier",
        "union_specifier",
        "enum_specifier",
        "namespace_definition",
        "preproc_function_def",
        "concept_definition",
    ),
).parse
