"""What the docstrings of packages and contracts name is there: commands, modules, classes, files.

A package's docstring is what its readers go by first, and nothing else runs it.
"""

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from ragkit import testing
from ragkit.cli.main import COMMANDS
from ragkit_eval.cli.main import COMMANDS as EVALUATIONS
from tests.places import ROOT

PARTS = (
    "ragkit",
    "ingest/ragkit_ingest",
    "serve/ragkit_serve",
    "serve/ragkit_models",
    "eval/ragkit_eval",
    "tune/ragkit_tune",
)
PACKAGES = sorted(file for part in PARTS for file in (ROOT / part).rglob("__init__.py"))
CONTRACTS = ROOT / "ragkit/contracts.py"
READ_FIRST = [*PACKAGES, CONTRACTS]
FORMATS = {"AsciiDoc", "OpenDocument"}  # names of the world outside
UNFINISHED = re.compile(r"\b(so far|not yet|for now|for the time being|to be done|TODO)\b", re.I)
NUMBERS = "two three four five six seven eight nine ten eleven twelve".split()


def docstring(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""


@cache
def defined(*folders: Path) -> set[str]:
    """Collect the names of all functions and classes below some folders."""
    texts = (file.read_text("utf-8") for folder in folders for file in folder.rglob("*.py"))
    definition = re.compile(r"^ *(?:async def|def|class) (\w+)", re.MULTILINE)
    return {name for text in texts for name in definition.findall(text)}


def protocols() -> list[str]:
    """List the contracts, in their order."""
    text = CONTRACTS.read_text("utf-8")
    return re.findall(r"^class (\w+)\(Protocol\)", text, re.MULTILINE)


def missing(text: str, file: Path) -> list[str]:
    """List what a docstring names and is not there."""
    names = re.findall(r"`([^`]+)`", text)
    wrong = [name for name in names if not there(" ".join(name.split()), file)]
    classes = set(re.findall(r"\b(?:[A-Z][a-z]+){2,}\b", text)) - FORMATS
    return wrong + sorted(classes - defined(*(ROOT / part for part in PARTS)))


def there(name: str, file: Path) -> bool:
    """Tell whether a command, module, function, class or file exists."""
    if command := re.match(r"ragkit ([\w-]+)(?: ([\w-]+))?", name):
        return command[1] in COMMANDS and (command[1] != "eval" or command[2] in EVALUATIONS)
    package = ".".join(file.parent.relative_to(ROOT).parts[-1:])
    if re.fullmatch(r"(ragkit\w*)?(\.\w+)+|ragkit\w*", name):
        return find_spec(name if name.startswith("ragkit") else package + name) is not None
    if "/" in name or name.endswith((".py", ".md", ".toml", ".sql")):
        return (ROOT / name).exists() or (file.parent / name).exists()
    return name.partition("(")[0] in defined(file.parent)


@pytest.mark.parametrize("file", READ_FIRST, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_a_docstring_names_is_there(file: Path) -> None:
    assert missing(docstring(file), file) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Asked by `ragkit nowhere`.", ["ragkit nowhere"]),
        ("Judged by `ragkit eval nothing`.", ["ragkit eval nothing"]),
        ("See `ragkit.nowhere` and `ragkit.cli.main`.", ["ragkit.nowhere"]),
        ("It is `opened(by=name)`, and `load`.", ["opened(by=name)"]),
        ("Gives a ParsedTexts, from ParsedText.", ["ParsedTexts"]),
        ("See `docs/nowhere.md`, `docs/README.md`.", ["docs/nowhere.md"]),
    ],
)
def test_what_is_not_there_is_seen(text: str, wrong: list[str]) -> None:
    assert missing(text, CONTRACTS) == wrong


def test_no_package_calls_itself_unfinished() -> None:
    assert {file: UNFINISHED.findall(docstring(file)) for file in READ_FIRST} == {
        file: [] for file in READ_FIRST
    }


def test_the_contracts_are_counted_and_listed() -> None:
    (number,) = re.findall(r"The (\w+) contracts", docstring(CONTRACTS))
    assert number == NUMBERS[len(protocols()) - 2]
    (row,) = re.findall(
        r"^\| `contracts.py` \| the Protocols: (.*?) \|",
        (ROOT / "ARCHITECTURE.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert row.split(", ") == protocols()


def test_a_contract_has_a_fake_and_a_suite_unless_the_docstrings_say_otherwise() -> None:
    names = set(testing.__all__)  # type: ignore[attr-defined]
    assert {name for name in protocols() if f"Fake{name}" not in names} == {"Refinement"}
    without = {name for name in protocols() if f"{name}Conformance" not in names}
    assert without == {"Reader", "Refinement"}  # a Store's suite tests its Reader
    for file in (CONTRACTS, ROOT / "ragkit/testing/__init__.py"):
        assert all(name in docstring(file) for name in without), file
