"""The programming languages that are read by their syntax: one table, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ragkit_ingest.parse.code import python
from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import ARROW, BRACED, KEYWORDS, TYPED, any_of

_WORDS = any_of(KEYWORDS)
_TYPES = any_of(KEYWORDS, TYPED, BRACED)
_SCRIPT = any_of(KEYWORDS, ARROW, BRACED)
_SHELL = any_of(KEYWORDS, r"[\w.:-]+[ \t]*\(\)")  # name() {
_OBJECTIVE_C = (
    r"@(?:interface|implementation|protocol)[ \t]+\w+|[-+][ \t]*\([^)\n]{1,100}\)[ \t]*\w+"
)
_ASSIGNED = r"[\w.]+[ \t]*(?=(?:<-|=)[ \t]*function\b)"  # name <- function(
_CREATE = re.compile(
    r"(?:create|alter)[ \t]+(?:or[ \t]+replace[ \t]+|temp(?:orary)?[ \t]+|unique[ \t]+"
    r"|materialized[ \t]+|unlogged[ \t]+|global[ \t]+|local[ \t]+){0,4}(?:table|view|function"
    r"|procedure|trigger|index|type|schema|sequence|package(?:[ \t]+body)?|policy|role|domain)"
    r"[ \t]+(?:concurrently[ \t]+|if[ \t]+(?:not[ \t]+)?exists[ \t]+){0,2}[\w.\"`\[\]$]+",
    re.IGNORECASE,
)
_SECTION = re.compile(r"\[{1,2}[^\]\n]{1,200}\]{1,2}")
_SELECTOR = re.compile(r"[^{};\n]{1,200}[^{};\s](?=\s*\{)")
_KEY = re.compile(
    r"(?:[\w./-]{1,100}|\"[^\"\n]{1,100}\"|'[^'\n]{1,100}')"
    r"(?=[ \t]*:[ \t]*(?:[|>&!#][^\n]*)?\Z)"
)
_TARGET = re.compile(r"[^\s:#=$][^:#=\n]{0,200}(?=::?(?!=))")
_STAGE = re.compile(r"(?:from|FROM)[ \t]+\S[^\n]{0,300}")
_C_COMMENTS = ("//", "/*", "*")
_TYPESCRIPT_KINDS = """
    function_declaration generator_function_declaration class_declaration
    abstract_class_declaration method_definition interface_declaration enum_declaration
    type_alias_declaration internal_module module lexical_declaration
"""


def _grammar(
    definition: re.Pattern[str],
    comments: tuple[str, ...],
    module: str,
    kinds: str,
    function: str = "language",
) -> Language:
    """Describe a language that a tree-sitter grammar reads; `kinds` are separated by spaces."""
    return Language(
        definition,
        comments,
        grammar=(f"tree_sitter_{module}", function),
        kinds=tuple(kinds.split()),
    )


LANGUAGES: Final[Mapping[str, Language]] = MappingProxyType(
    {
        "python": Language(python.DEFINITION, ("#",), reader=python.definitions),
        "javascript": _grammar(
            _SCRIPT,
            _C_COMMENTS,
            "javascript",
            """
            function_declaration generator_function_declaration class_declaration
            method_definition lexical_declaration variable_declaration
            """,
        ),
        "typescript": _grammar(
            _SCRIPT, _C_COMMENTS, "typescript", _TYPESCRIPT_KINDS, "language_typescript"
        ),
        "tsx": _grammar(_SCRIPT, _C_COMMENTS, "typescript", _TYPESCRIPT_KINDS, "language_tsx"),
        "java": _grammar(
            _TYPES,
            _C_COMMENTS,
            "java",
            """
            class_declaration interface_declaration enum_declaration record_declaration
            annotation_type_declaration method_declaration constructor_declaration
            """,
        ),
        "c": _grammar(  # and C++, headers too
            _TYPES,
            (*_C_COMMENTS, "template"),
            "cpp",
            """
            function_definition class_specifier struct_specifier union_specifier enum_specifier
            namespace_definition preproc_function_def concept_definition
            """,
        ),
        "csharp": _grammar(
            _TYPES,
            (*_C_COMMENTS, "["),
            "c_sharp",
            """
            namespace_declaration class_declaration struct_declaration interface_declaration
            enum_declaration record_declaration method_declaration constructor_declaration
            operator_declaration
            """,
        ),
        "go": _grammar(
            _WORDS,
            _C_COMMENTS,
            "go",
            "function_declaration method_declaration type_declaration",
        ),
        "rust": _grammar(
            _WORDS,
            (*_C_COMMENTS, "#["),
            "rust",
            """
            function_item struct_item enum_item union_item trait_item impl_item mod_item
            macro_definition type_item
            """,
        ),
        "ruby": _grammar(_WORDS, ("#",), "ruby", "module class method singleton_method"),
        "php": _grammar(
            _WORDS,
            (*_C_COMMENTS, "#"),
            "php",
            """
            namespace_definition class_declaration interface_declaration trait_declaration
            enum_declaration function_definition method_declaration
            """,
            "language_php",
        ),
        "swift": _grammar(
            _WORDS,
            _C_COMMENTS,
            "swift",
            "class_declaration protocol_declaration function_declaration init_declaration",
        ),
        "kotlin": _grammar(
            _WORDS,
            _C_COMMENTS,
            "kotlin",
            "class_declaration object_declaration function_declaration companion_object",
        ),
        "scala": _grammar(
            _WORDS,
            _C_COMMENTS,
            "scala",
            """
            class_definition object_definition trait_definition enum_definition
            function_definition given_definition extension_definition
            """,
        ),
        "shell": _grammar(_SHELL, ("#",), "bash", "function_definition"),
        "lua": _grammar(_WORDS, ("--",), "lua", "function_declaration"),
        # A rule heads its commands, an image the steps that are made on it.
        "make": Language(_TARGET, ("#",), flat=True),
        "dockerfile": Language(_STAGE, ("#",), flat=True),
        # An object that is created or altered heads the text up to the next such statement.
        "sql": Language(_CREATE, ("--", "/*", "*"), flat=True),
        # Julia, Perl, MATLAB, R, Objective-C, Groovy, Dart, PowerShell and others.
        "other": Language(
            any_of(_OBJECTIVE_C, KEYWORDS, _ASSIGNED, TYPED, BRACED),
            ("#", "//", "/*", "*", "%", "--"),
        ),
        # Each key heads the lines indented under it. No value is loaded or resolved.
        "yaml": Language(_KEY, ("#",)),
        # .ini, .cfg, .toml, .properties: a section reaches to the next.
        "sections": Language(_SECTION, ("#", ";"), flat=True),
        "stylesheet": Language(_SELECTOR, _C_COMMENTS),
    }
)
