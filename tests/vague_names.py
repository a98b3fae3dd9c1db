"""Count names that say nothing (`found`, `one`, `said`) among all names that Python files bind.

`python -m tests.vague_names [--limit PERCENT] [PATH ...]` prints the share of each path and its
worst files. The exit code is 1 where a path is above the limit.
"""

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGES = (
    "ragkit",
    "ingest/ragkit_ingest",
    "serve/ragkit_serve",
    "serve/ragkit_models",
    "eval/ragkit_eval",
    "tune/ragkit_tune",
)

VAGUE = frozenset(
    """
    one some own other others mine its their theirs here there now then what thing things
    said told asked given shown found kept left made seen taken known wanted meant
    whole rest more most few many same each both all_ new old before after beside apart away again
    """.split()
)


def bound_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names of functions, classes, parameters and assigned variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def count_names(file: Path) -> tuple[int, Counter[str]]:
    """Return how many names a file binds, and the vague ones among them."""
    tree = ast.parse(file.read_text("utf-8"))
    names = [name for name in bound_names(tree) if name not in ("self", "cls", "_")]
    return len(names), Counter(name.strip("_") for name in names if name.strip("_") in VAGUE)


def report(path: Path, worst: int) -> float:
    """Print the share of vague names under a path, and return it in percent."""
    counts = (
        {file: count_names(file) for file in sorted(path.rglob("*.py"))}
        if path.is_dir()
        else {path: count_names(path)}
    )
    total = sum(count for count, _ in counts.values())
    words = sum((vague for _, vague in counts.values()), Counter[str]())
    share = 100 * words.total() / max(total, 1)
    common = ", ".join(f"{word} {count}" for word, count in words.most_common(8))
    print(f"{share:4.1f}%  {words.total()} of {total} names in {path}: {common}")
    files = sorted(
        ((vague.total(), count, file) for file, (count, vague) in counts.items()), reverse=True
    )
    for vague_count, count, file in files[:worst]:
        if vague_count:
            print(f"       {vague_count} of {count}  {file}")
    return share


def main() -> int:
    """Report every path, and compare each with the limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[Path(path) for path in PACKAGES])
    parser.add_argument(
        "--limit", type=float, default=100.0, help="fail above this share, in percent"
    )
    parser.add_argument(
        "--worst", type=int, default=0, metavar="FILES", help="list this many files with the most"
    )
    args = parser.parse_args()
    shares = [report(path, args.worst) for path in args.paths]
    return int(max(shares) > args.limit)


if __name__ == "__main__":
    sys.exit(main())
