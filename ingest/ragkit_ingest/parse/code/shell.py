"""Shell scripts."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import KEYWORDS, any_of

_FUNCTION = r"[\w.:-]+[ \t]*\(\)"  # name() {

parse = Language(
    any_of(KEYWORDS, _FUNCTION),
    ("#",),
    grammar=("tree_sitter_bash", "language"),
    kinds=("function_definition",),
).parse
