"""Python, by its own syntax tree where the source is without mistakes, by its lines otherwise.

Nothing is compiled, imported or run.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.outline import Definition

_NAMED = re.compile(r"(?:async[ \t]+)?(?:def|class)[ \t]+\w+")
_MAX_CHARS = 1 << 20  # arbitrary; a tree takes a hundred times its source
_Defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def definitions(text: str) -> list[Definition] | None:
    """Find classes and functions, decorators included; None for what Python cannot parse."""
    if len(text) > _MAX_CHARS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the source's own escapes
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    return list(_found(tree, text, starts))


def _found(tree: ast.Module, text: str, starts: list[int]) -> Iterator[Definition]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Defined):
            line = starts[node.lineno - 1]
            named = _NAMED.search(text, line, starts[node.lineno])
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            end = starts[(node.end_lineno or node.lineno)]
            if named:
                start = text.find("@", starts[first - 1]) if first < node.lineno else named.start()
                yield Definition(start, named.end(), max(end - 1, named.end()))
        waiting.extend(item for item in ast.iter_child_nodes(node) if isinstance(item, _BODIES))


_BODIES = (ast.stmt, ast.excepthandler, ast.match_case)

parse = Language(_NAMED, ("#",), reader=definitions).parse
