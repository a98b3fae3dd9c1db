"""Every regular expression of the code, with the ways in which it is used.

Patterns are read from the syntax trees, where they are arguments of `re`, and from the modules'
globals and class attributes.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from tests.places import ROOT

PACKAGES: Final = (
    "ragkit",
    "ingest/ragkit_ingest",
    "serve/ragkit_serve",
    "serve/ragkit_models",
    "eval/ragkit_eval",
    "tune/ragkit_tune",
)
_USES: Final = frozenset(
    ("finditer", "findall", "sub", "subn", "split", "search", "match", "fullmatch")
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, the first place that has it, and how it is used: a subset of `_USES`."""

    compiled: re.Pattern[Any]
    place: str
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class Inventory:
    """All patterns, and the calls of `re` whose pattern is only known when they run."""

    patterns: tuple[Pattern, ...]
    unknown: frozenset[str]


def inventory() -> Inventory:
    """Collect the patterns of all modules."""
    modules = list(_modules())
    uses = _uses_by_name(modules)
    merged: dict[tuple[str | bytes, int], Pattern] = {}
    unknown: set[str] = set()
    for module in modules:
        for pattern in (*_written(module, uses, unknown), *_held(module, uses)):
            key = pattern.compiled.pattern, pattern.compiled.flags
            known = merged.get(key)
            place = known.place if known else pattern.place
            merged[key] = Pattern(
                pattern.compiled, place, pattern.uses | (known.uses if known else frozenset())
            )
    return Inventory(tuple(merged.values()), frozenset(unknown))


@dataclass(frozen=True, slots=True)
class _Module:
    name: str
    tree: ast.Module
    module: ModuleType


def _modules() -> Iterator[_Module]:
    sys.path.append(str(ROOT / "tune/ragkit_tune/worker"))  # scripts that import each other
    for package in PACKAGES:
        folder = (ROOT / package).parent
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            if parts[-1] != "__main__":
                tree = ast.parse(file.read_text("utf-8"))
                yield _Module(name, tree, importlib.import_module(name))


def _uses_by_name(modules: list[_Module]) -> Mapping[tuple[str, str], set[str]]:
    """Map the name of a pattern, within its module or for all, to the methods called on it."""
    uses: dict[tuple[str, str], set[str]] = {}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and node.attr in _USES:
                holder = node.value
                name = getattr(holder, "id", getattr(holder, "attr", ""))
                scope = module.name if name.startswith("_") else ""
                uses.setdefault((scope, name), set()).add(node.attr)
    return uses


def _written(
    module: _Module, uses: Mapping[tuple[str, str], set[str]], unknown: set[str]
) -> Iterator[Pattern]:
    """Yield what the module passes to the functions of `re`."""
    names = {
        id(node.value): target.id
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module.tree):
        if not (isinstance(node, ast.Call) and _function(node)):
            continue
        place = f"{module.name}: {ast.unparse(node.args[0])[:60]}"
        try:
            source = _value(node.args[0], module.module)
            flags = [_value(flag, module.module) for flag in _flags(node)]
        except NameError:
            unknown.add(f"{module.name}: {ast.unparse(node.args[0])}")
            continue
        compiled = re.compile(source, *flags)
        how, name = _function(node), names.get(id(node), "")
        if how != "compile":
            yield Pattern(compiled, place, frozenset((how,)))
        elif name:
            yield Pattern(compiled, f"{module.name}.{name}", _uses(uses, module.name, name))
        else:
            yield Pattern(compiled, place, frozenset(("finditer",)))


def _function(node: ast.Call) -> str:
    """Name the function of `re` that is called, or ""."""
    func = node.func
    if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)):
        return ""
    return func.attr if func.value.id == "re" and func.attr in _USES | {"compile"} else ""


def _flags(node: ast.Call) -> list[ast.expr]:
    after = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    return [argument for argument in after if re.match(r"re\.[A-Z]", ast.unparse(argument))]


def _value(node: ast.expr, module: ModuleType) -> Any:
    code = compile(ast.Expression(node), module.__name__, "eval")
    return eval(code, dict(vars(module)))  # noqa: S307  expressions of our own source


def _uses(uses: Mapping[tuple[str, str], set[str]], module: str, name: str) -> frozenset[str]:
    """Return how a pattern of a name is used; where that is not seen, all over a text."""
    scope = module if name.startswith("_") else ""
    return frozenset(uses.get((scope, name), ())) or frozenset(("finditer",))


def _held(module: _Module, uses: Mapping[tuple[str, str], set[str]]) -> Iterator[Pattern]:
    """Yield the patterns among the module's globals and the attributes of its classes."""
    values = dict(vars(module.module))
    for value in vars(module.module).values():
        if isinstance(value, type) and value.__module__ == module.name:
            values |= {name: held for name, held in vars(value).items() if name[:2] != "__"}
    for name, value in values.items():
        for compiled in _compiled(value):
            yield Pattern(compiled, f"{module.name}.{name}", _uses(uses, module.name, name))


def _compiled(value: object, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        for inner in (*value.keys(), *value.values()):
            yield from _compiled(inner, depth - 1)
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for inner in value:
            yield from _compiled(inner, depth - 1)
