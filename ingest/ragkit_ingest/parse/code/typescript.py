"""TypeScript, with elements in it (.tsx) or without."""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import ARROW, BRACED, KEYWORDS, any_of


def typescript(grammar: str) -> Language:
    """Return the language by one of the two grammars that its package has."""
    return Language(
        any_of(KEYWORDS, ARROW, BRACED),
        ("//", "/*", "*"),
        grammar=("tree_sitter_typescript", grammar),
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
    )


parse = typescript("language_typescript").parse
