"""Figures of the code itself: `python -m tests.house [ROOT]`.

Files and lines by package, files over 400 lines, functions over 60 lines, the share of vague names,
imports between folders, and circles of folders that import each other.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.vague_names import count_names

PARTS = ("ragkit", "ingest", "serve", "eval", "tune", "tests")
LONG_FILE = 400
LONG_FUNCTION = 60

Graph = dict[str, set[str]]


def module_name(file: Path, root: Path) -> str:
    """Return the dotted name by which a file of one of the packages is imported."""
    parts = file.relative_to(root).with_suffix("").parts
    if parts[0] in ("ingest", "serve", "eval", "tune"):
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a module imports at run time, wherever the import stands."""
    checked_only = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for statement in node.body
        for child in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in checked_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def folder_imports(root: Path) -> Graph:
    """Return which folders of the packages import from which other folders."""
    trees = {
        module_name(file, root): (file, ast.parse(file.read_text("utf-8")))
        for part in PARTS[:-1]
        for file in sorted((root / part).rglob("*.py"))
        if file.name != "__main__.py"  # starts a program, and is imported by nothing
    }
    folder = {
        name: name if file.name == "__init__.py" else name.rpartition(".")[0]
        for name, (file, _) in trees.items()
    }
    graph: Graph = defaultdict(set)
    for name, (_, tree) in trees.items():
        for target in imported_names(tree):
            module = target if target in trees else target.rpartition(".")[0]
            if module in trees and folder[module] != folder[name]:
                graph[folder[name]].add(folder[module])
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of folders that import each other, directly or not (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in order:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], order[target])
        if low[node] == order[node]:
            start = stack.index(node)
            group = stack[start:]
            del stack[start:]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return groups


def long_functions(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the length and name of every function that is too long."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONG_FUNCTION:
                yield lines, node.name


def print_sizes(root: Path) -> None:
    """Print files, lines and vague names of each part, then what is too long."""
    long_files, functions = [], []
    for part in PARTS:
        files = sorted((root / part).rglob("*.py"))
        lines = {file: len(file.read_text("utf-8").splitlines()) for file in files}
        counts = [count_names(file) for file in files]
        vague = sum(words.total() for _, words in counts)
        share = 100 * vague / max(sum(count for count, _ in counts), 1)
        print(f"{part:8} {len(files):4} files {sum(lines.values()):7,} lines {share:5.1f}% vague")
        if part != "tests":
            long_files += [(count, file) for file, count in lines.items() if count > LONG_FILE]
            functions += [
                (count, name, file) for file in files for count, name in long_functions(file)
            ]
    print(f"{len(long_files)} files over {LONG_FILE} lines")
    for count, file in sorted(long_files, reverse=True):
        print(f"  {count} {file.relative_to(root)}")
    print(f"{len(functions)} functions over {LONG_FUNCTION} lines")
    for count, name, file in sorted(functions, reverse=True):
        print(f"  {count} {name} {file.relative_to(root)}")


def main(root: Path) -> None:
    """Print all figures of the checkout at `root`."""
    print_sizes(root)
    graph = folder_imports(root)
    print(f"{sum(map(len, graph.values()))} imports between folders")
    groups = circles(graph)
    print(f"{len(groups)} circles of folders")
    for group in groups:
        print("  " + " ".join(group))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd())
