"""Ruby."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import KEYWORDS, any_of

parse = Language(
    any_of(KEYWORDS),
    ("#",),
    grammar=("tree_sitter_ruby", "language"),
    kinds=(
        "module",
        "class",
        "method",
        "singleton_method",
    ),
).parse
