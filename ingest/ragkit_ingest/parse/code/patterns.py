"""Patterns for the first lines of definitions, shared by many languages."""

from __future__ import annotations

import re

_MODIFIERS = (
    r"(?:(?:pub(?:\([a-z]{1,9}\))?|public|private|protected|internal|static|final|abstract|sealed"
    r"|open|export|default|async|override|virtual|inline|unsafe|extern|const|data|partial|suspend"
    r"|local|native|synchronized|readonly|declare|fileprivate|mutating|case|implicit|lazy|companion"
    r"|mutable|class(?=\s+func))[ \t]++){0,8}+"
)
_NOT = (
    r"(?!(?:if|for|foreach|while|until|unless|switch|match|return|else|elif|catch|do|throw|new|case"
    r"|delete|goto|using|import|lock|assert|await|yield|with|not|and|or|in|is|except|when|try)\b)"
)
_NAME = r"(?:\([^()\n]{0,100}\)\s*)?[\w$.:?!~]*[\w$?!]"
# def name, class Name, func (receiver) name, impl Trait for Type
KEYWORDS = (
    # A line that ends in a semicolon only declares, or is a statement.
    r"(?![^\n]*;[ \t]*\Z)"
    + _MODIFIERS
    + r"(?:(?:class|struct|interface|trait|enum|mod|module|namespace|object|record"
    r"|protocol|extension|function|func|fun|fn|def|sub|macro|type|union|procedure"
    rf"|classdef|actor)\b\*?\s+{_NAME}|(?:impl|given)\b[^{{\n]{{0,150}}+)"
)
# type name(arguments), on a line that is no statement
TYPED = _NOT + r"(?:[\w$<>\[\],.:?]+[ \t]+[*&]{0,3}){1,8}~?[\w$:~]*[\w$](?=[ \t]*\([^;\n]*\Z)"
# name(arguments) {
BRACED = (
    _NOT + r"(?:(?:async|static|get|set|public|private|protected|override)[ \t]++){0,4}+\*?~?#?"
    r"[\w$:~]*[\w$](?=[ \t]*\([^;\n]*\)[^;()\n]*\{\s*\Z)"
)
# const name = (arguments) =>
ARROW = (
    r"(?:export[ \t]+)?(?:default[ \t]+)?(?:const|let|var)[ \t]+[\w$]+"
    r"(?=[^=\n]{0,100}=[ \t]*(?:async\b[ \t]*)?(?:function\b|\(|[\w$]+[ \t]*=>))"
)


def any_of(*patterns: str) -> re.Pattern[str]:
    """Match whichever comes first."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
