"""Secrets are looked up by their hash or compared in constant time: never by == or a plain `in`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.places import ROOT

SECRET = re.compile(
    r"(^|_)(secret|token|password|digest|sha256|nonce|presented|api_key|state_sha256)s?$"
)
# Of language models' texts or of files: no secret.
OTHER = re.compile(r"token_ids?|max_tokens?|tokens$")
PACKAGES = ("serve/ragkit_serve/api", "serve/ragkit_serve/page")
FILES = (
    "ragkit/access/keys.py",
    "ragkit/access/logins.py",
    "ragkit/store/people/keys.py",
    "ragkit/store/people/logins.py",
)


def names(node: ast.expr) -> Iterator[str]:
    """Return the name that an expression ends with, if any."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "get_secret_value":
            yield "secret"
        yield from names(node.func.value)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        yield str(node.slice.value)


def plain_comparisons(source: str) -> list[int]:
    """Return the lines that compare a secret by == or !=; with None or "" it may be compared."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        if not any(isinstance(one, ast.Eq | ast.NotEq) for one in node.ops):
            continue
        sides = [node.left, *node.comparators]
        if any(isinstance(side, ast.Constant) and not side.value for side in sides):
            continue
        found = [name for side in sides for name in names(side)]
        if any(SECRET.search(name) and not OTHER.search(name) for name in found):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    "source",
    ["a.sha256 == b", "secret != other", "x == claims['nonce']", "k.get_secret_value() == p"],
)
def test_the_search_finds_them(source: str) -> None:
    assert plain_comparisons(source) == [1]


@pytest.mark.parametrize(
    "source", ["secret == ''", "count == 3", "a.tokens == 2", "secret is None"]
)
def test_and_nothing_else(source: str) -> None:
    assert plain_comparisons(source) == []


def test_no_secret_is_compared_plainly() -> None:
    paths = [ROOT / name for name in FILES]
    for package in PACKAGES:
        paths += sorted((ROOT / package).rglob("*.py"))
    assert len(paths) > 40
    places = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in paths
        for line in plain_comparisons(path.read_text())
    ]
    assert places == []
