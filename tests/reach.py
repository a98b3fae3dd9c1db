"""Which checks a change can reach: `python -m tests.reach [--all] [--since COMMIT]`.

Standard output has a line for each step that `.ci/run` has to take: its name and, after a tab, its
test files. Standard error says why. Needs nothing but git and Python's standard library.

The core, the tools and the tests' common helpers reach everything. The parts (ingest, serve, eval,
tune) are independent by contract: a change in one reaches the tests that import it or run its
commands. A path that no rule knows reaches everything.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PASSED: Final = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "ragkit-ci/passed"

MARKS: Final = ("long", "browser", "faults", "vllm")  # each with a step of its own, `test-MARK`
PROGRAMS: Final = {"gate": "benchmarks/gate.py", "soak": "tests/serve/soak.py"}
STEPS: Final = ("lint", "test", *(f"test-{mark}" for mark in MARKS), *PROGRAMS, "wheel")

_NONE: Final = r"(?!)"
# The first rule that a changed path matches gives the tests that it reaches: those whose text, or
# the text of a helper of theirs, matches. Besides, a test is reached by itself and by its helpers.
# The server starts the worker of ingestion, and `eval rag --documents` starts `ingest`.
_RULES: Final = (
    (
        r"ragkit/|\.ci/|tests/[^/]+$|constraints\.txt$|pyproject\.toml$|Makefile$",
        "",
        "reaches everything",
    ),
    (r"docs/|.*\.md$", r'"docs"|docs/|README|"\*\.md"', "tests that read documents"),
    (
        r"ingest/",
        r"ragkit_ingest|\bingest|\bworker\b|\bupload|--documents|README",
        "tests that use ingest",
    ),
    (
        r"serve/",
        r'ragkit_serve|ragkit_models|"serve"|"model"|ragkit serve|ragkit model|serve:',
        "tests that use serve",
    ),
    (r"eval/", r'ragkit_eval|ragkit_tune|"eval"|ragkit eval', "tests that use eval"),
    (r"tune/", r'ragkit_tune|"tune"|ragkit tune', "tests that use tune"),
    (r"examples/", r"examples|README|handbook", "tests that read examples"),
    (
        r"deploy/|docker-compose\.yml$|\.dockerignore$",
        r"deploy|[Dd]ocker|compose|nginx",
        "tests of the deployment",
    ),
    (r"environments/", r"environments|_PYTHON\b", "tests with environments of their own"),
    (r"benchmarks/", r"benchmarks", "tests of the benchmarks"),
    (r"tests/", r'guarantees\.md|"\*\.md"', "itself, tests that import it, and those of links"),
    (r"LICENSE$|\.gitignore$", _NONE, "no test"),
    (r"", "", "reaches everything: no rule knows it"),
)
_IN_THE_WHEEL: Final = (
    r"(ragkit|ingest|serve|eval|tune|examples/handbook)/|(README|THIRD_PARTY_NOTICES)\.md$|LICENSE$"
)


@dataclass(frozen=True)
class CheckFile:
    """A test file or program: the marks of its tests, and the files whose change it notices."""

    path: str
    marks: frozenset[frozenset[str]]
    files: frozenset[str]
    text: str  # of all those files

    @property
    def steps(self) -> set[str]:
        """The steps that run some test of it."""
        unmarked = {"test"} if frozenset() in self.marks else set()
        return unmarked | {f"test-{mark}" for marks in self.marks for mark in marks}


def main(arguments: list[str]) -> int:
    """Print the steps of a change."""
    parser = argparse.ArgumentParser(prog="tests.reach", description=__doc__)
    parser.add_argument("--all", action="store_true", help="every step, whatever changed")
    parser.add_argument("--since", metavar="COMMIT", help="the commit that is known to be good")
    parser.add_argument("--passed", action="store_true", help="remember this commit as good")
    options = parser.parse_args(arguments)
    if options.passed:
        _remember()
        return 0
    files = read_tests(ROOT)
    if options.all:
        _explain("everything, as asked")
        _print(dict.fromkeys(STEPS, frozenset()), files)
        return 0
    since = options.since or last_passed(ROOT, PASSED)
    if since is None:
        _explain(f"everything: no commit before this one is known to have passed ({PASSED})")
        _print(dict.fromkeys(STEPS, frozenset()), files)
        return 0
    paths = changed(ROOT, since)
    _explain(f"{len(paths)} files changed since {since[:12]}")
    reasons = reached(paths, files)
    for reason in sorted(set(reasons.values())):
        _explain(f"  {reason}")
    _print(steps(paths, reasons, files), files)
    return 0


def reached(paths: Sequence[str], files: Sequence[CheckFile]) -> dict[str, str]:
    """Map each test file or program that a change of these paths can reach to the reason."""
    reasons: dict[str, str] = {}
    for path in paths:
        pattern, why = _rule(path)
        for file in files:
            if path in file.files or re.search(pattern, file.text):
                reasons.setdefault(file.path, f"{path}: {why}")
    return reasons


def steps(
    paths: Sequence[str], reasons: Mapping[str, str], files: Sequence[CheckFile]
) -> dict[str, frozenset[str]]:
    """Map each step to its files; a step of all its files, or one without, to none."""
    if not all(_rule(path)[0] for path in paths):
        return dict.fromkeys(STEPS, frozenset())
    chosen: dict[str, frozenset[str]] = {"lint": frozenset()}
    for step in STEPS:
        possible = {file.path for file in files if step in file.steps}
        among = possible & reasons.keys()
        if among:
            chosen[step] = frozenset() if among == possible else frozenset(among)
        if PROGRAMS.get(step) in reasons:
            chosen[step] = frozenset()
    if any(re.match(_IN_THE_WHEEL, path) for path in paths):
        chosen["wheel"] = frozenset()
    return chosen


def _rule(path: str) -> tuple[str, str]:
    """Give the pattern of the tests that a path reaches, empty for all, and what they are."""
    return next(rule[1:] for rule in _RULES if re.match(rule[0], path))


def read_tests(root: Path) -> list[CheckFile]:
    """Read all test files and programs, with what they import and start."""
    folders = ("tests", "benchmarks")
    files = [file for folder in folders for file in root.glob(f"{folder}/**/*.py")]
    paths = sorted(file.relative_to(root).as_posix() for file in files)
    paths = [path for path in paths if not path.startswith("benchmarks/out/")]  # peers' programs
    tests = [path for path in paths if path.rpartition("/")[2].startswith("test_")]
    return [_read(root, path, frozenset(paths)) for path in [*tests, *PROGRAMS.values()]]


def _read(root: Path, path: str, helpers: frozenset[str]) -> CheckFile:
    files: set[str] = set()
    waiting = [path, *_conftests(path, helpers)]
    while waiting:
        file = waiting.pop()
        if file not in files:
            files.add(file)
            waiting += _helpers(root, file, helpers)
    text = "\n".join(_text(root / file) for file in sorted(files))
    marks = frozenset() if path in PROGRAMS.values() else _marks(_text(root / path))
    return CheckFile(path, marks, frozenset(files), text)


def _conftests(path: str, helpers: frozenset[str]) -> Iterator[str]:
    """Yield the conftest.py of each folder above a test, but for the one of all tests."""
    for folder in list(Path(path).parents)[:-2]:
        if (file := f"{folder.as_posix()}/conftest.py") in helpers:
            yield file


def _helpers(root: Path, file: str, helpers: frozenset[str]) -> Iterator[str]:
    """Yield what a file imports of these, and the scripts beside it that it names."""
    text = _text(root / file)
    for module, names in re.findall(r"^\s*from ([\w.]+) import (\([^)]*|.*)", text, re.M):
        for name in [module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))]:
            if (path := name.replace(".", "/") + ".py") in helpers:
                yield path
    folder = file.rpartition("/")[0]
    for name in re.findall(r"\b\w+\.py\b", text):
        if (script := f"{folder}/{name}") in helpers:
            yield script


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _marks(text: str) -> frozenset[frozenset[str]]:
    """Collect the sets of marks that a module's tests have; a case may have more than its test."""
    if not re.search(rf"\bmark\.({'|'.join(MARKS)})\b", text):
        return frozenset({frozenset()})
    tree = ast.parse(text)
    shared = _marks_in(
        [node.value for node in tree.body if isinstance(node, ast.Assign) and _is_mark(node)]
    )
    sets: set[frozenset[str]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.match(
            "test_", node.name
        ):
            direct = [d for d in node.decorator_list if "parametrize" not in ast.unparse(d)]
            cases = [d for d in node.decorator_list if d not in direct]
            sets.add(frozenset(shared | _marks_in(direct)))
            if case_marks := _marks_in(cases):
                sets.add(frozenset(shared | case_marks))
    return frozenset(sets or {frozenset(shared)})


def _is_mark(node: ast.Assign) -> bool:
    return any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets)


def _marks_in(nodes: Iterable[ast.expr]) -> set[str]:
    text = " ".join(ast.unparse(node) for node in nodes)
    return {mark for mark in MARKS if re.search(rf"\bmark\.{mark}\b", text)}


def changed(root: Path, since: str) -> list[str]:
    """List the paths that differ from a commit, in the working tree too."""
    differing = _git(root, "diff", "--name-only", "--no-renames", since)
    return sorted({*differing, *_git(root, "ls-files", "--others", "--exclude-standard")})


def last_passed(root: Path, record: Path) -> str | None:
    """Find the newest commit before this state that is recorded to have passed everything."""
    recorded = set(record.read_text("utf-8").split()) if record.exists() else set()
    return next((commit for commit in _git(root, "rev-list", "HEAD") if commit in recorded), None)


def _remember() -> None:
    """Record the commit at hand, unless the working tree differs from it."""
    if _git(ROOT, "status", "--porcelain"):
        _explain("not recorded as passed: the working tree differs from its commit")
        return
    PASSED.parent.mkdir(parents=True, exist_ok=True)
    with PASSED.open("a", encoding="utf-8") as record:
        record.write(f"{_git(ROOT, 'rev-parse', 'HEAD')[0]}\n")


def _git(root: Path, *arguments: str) -> list[str]:
    command = ["git", "-C", str(root), "-c", "core.quotePath=false", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"tests.reach: git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def _print(chosen: Mapping[str, frozenset[str]], files: list[CheckFile]) -> None:
    for step in STEPS:
        possible = sum(step in file.steps for file in files)
        if step not in chosen:
            _explain(f"left out: {step}")
            continue
        count = f"{len(chosen[step]) or possible} of {possible} files" if possible else "whole"
        _explain(f"taken:    {step} ({count})")
        print(f"{step}\t{' '.join(sorted(chosen[step]))}")


def _explain(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
