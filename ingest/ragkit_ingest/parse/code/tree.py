"""Find a source's definitions with a tree-sitter grammar, where one is installed.

Grammars are wheels of their own, and nothing is fetched when a file is read.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ragkit_ingest.parse.code.outline import Definition

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

_MAX_BYTES = 1 << 18  # hand-written files are smaller, and trees of broken ones take hundreds of MB
_PIECE_BYTES = 1 << 16
_MAX_CPU_S = 4.0  # arbitrary; a real source of that size takes 0.1 s
# Sources compress to a fifth or so. Endless repetition takes a parser for ambiguous grammars
# quadratic time within single steps ("a<a<a<" in Java), so that the clock does not stop it.
_MIN_COMPRESSED = 1 / 25
# What only counts with a body of its own: elsewhere it is a reference or a declaration.
_BODILY = frozenset(
    "class_specifier struct_specifier union_specifier enum_specifier namespace_definition".split()
)
_ASSIGNED = frozenset({"lexical_declaration", "variable_declaration"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "class"})


def definitions(
    text: str, module: str, function: str, kinds: tuple[str, ...]
) -> list[Definition] | None:
    """Find the nodes of the given kinds.

    Returns None where the grammar is not installed, or the source too large or too odd for a tree.
    """
    data = text.encode()
    if len(data) > _MAX_BYTES or len(zlib.compress(data, 1)) < _MIN_COMPRESSED * len(data):
        return None
    language = _language(module, function)
    if language is None:
        return None
    tree = _parsed(data, language)
    if tree is None:
        return None
    kind_ids = {language.id_for_node_kind(kind, True) for kind in kinds}
    ranges = [
        _range(node, data) for node in _walk(tree) if node.kind_id in kind_ids and _defines(node)
    ]
    place = _places(data, (edge for item in ranges for edge in item))
    return [Definition(*(place[edge] for edge in item)) for item in ranges]


@cache
def _language(module: str, function: str) -> Language | None:
    """Load a grammar; None without it, or when it is of another generation than tree-sitter."""
    try:
        from tree_sitter import Language

        return Language(getattr(import_module(module), function)())
    except (ImportError, AttributeError, ValueError):
        return None


def _parsed(data: bytes, language: Language) -> Tree | None:
    """Parse a source; None for one that takes far longer than sources do."""
    from tree_sitter import Parser

    deadline = time.process_time() + _MAX_CPU_S
    try:
        return Parser(language).parse(
            lambda offset, _: data[offset : offset + _PIECE_BYTES],
            encoding="utf8",
            progress_callback=lambda *_: time.process_time() > deadline,
        )
    except ValueError:  # it was told to stop
        return None


def _walk(tree: Tree) -> Iterator[Node]:
    """Visit every node, parents first. A query would take quadratic time on broken sources."""
    cursor = tree.walk()
    while True:
        if cursor.node is not None:
            yield cursor.node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _defines(node: Node) -> bool:
    """Say whether a node of a wanted kind defines something here."""
    if node.type in _BODILY:
        return node.child_by_field_name("body") is not None
    if node.type in _ASSIGNED:
        first = node.named_child(0)
        value = first.child_by_field_name("value") if first is not None else None
        return value is not None and value.type in _FUNCTIONS
    return True


def _range(node: Node, data: bytes) -> tuple[int, int, int]:
    """Give where a definition begins, where its name ends, and where it ends, in bytes."""
    name = node.child_by_field_name("name")
    inner = node
    while name is None:  # C and its kin wrap the name in what is declared
        declared = inner.child_by_field_name("declarator")
        if declared is None:
            break
        inner = declared
        name = inner.child_by_field_name("name") if inner.child_count else inner
    if name is not None and node.start_byte < name.end_byte <= node.end_byte:
        return node.start_byte, name.end_byte, node.end_byte
    line_end = data.find(b"\n", node.start_byte, node.end_byte)
    line = data[node.start_byte : node.end_byte if line_end < 0 else line_end]
    length = len(line.rstrip(b" \t{(:=")) or len(line)
    return node.start_byte, node.start_byte + length, node.end_byte


def _places(data: bytes, offsets: Iterable[int]) -> dict[int, int]:
    """Map byte offsets to character offsets, in one pass."""
    return dict(_counted(data, sorted(set(offsets))))


def _counted(data: bytes, offsets: list[int]) -> Iterator[tuple[int, int]]:
    done = chars = 0
    for offset in offsets:
        chars += len(data[done:offset].decode("utf-8", "ignore"))
        done = offset
        yield offset, chars
