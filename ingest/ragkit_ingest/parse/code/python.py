"""Find the definitions of Python source by Python's own syntax tree.

Nothing is compiled, imported or run.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Final

from ragkit_ingest.parse.code.outline import Definition

DEFINITION: Final = re.compile(r"(?:async[ \t]+)?(?:def|class)[ \t]+\w+")
_MAX_CHARS = 1 << 20  # arbitrary; a tree takes a hundred times its source
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


def definitions(text: str) -> list[Definition] | None:
    """Find classes and functions, decorators included; None for source that Python cannot parse."""
    if len(text) > _MAX_CHARS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the source
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    return list(_walk(tree, text, starts))


def _walk(tree: ast.Module, text: str, line_starts: list[int]) -> Iterator[Definition]:
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _DEFINITIONS):
            line = line_starts[node.lineno - 1]
            head = DEFINITION.search(text, line, line_starts[node.lineno])
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            end = line_starts[(node.end_lineno or node.lineno)]
            if head:
                start = head.start()
                if first < node.lineno:
                    start = text.find("@", line_starts[first - 1])
                yield Definition(start, head.end(), max(end - 1, head.end()))
        stack.extend(
            child for child in ast.iter_child_nodes(node) if isinstance(child, _STATEMENTS)
        )
