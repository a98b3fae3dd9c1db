"""The pictures of ARCHITECTURE.md: their boxes are there, and their arrows are imports of the code.

A solid arrow is an import, a dashed one is none: ragkit_serve and ragkit_eval, for one, reach
ragkit_ingest without importing it. The page's links are tried with those of docs/ by
tests/docs/test_references.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Final

import pytest

from tests.places import ROOT

PAGE: Final = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGES: Final = {
    "ragkit/",
    "ingest/ragkit_ingest/",
    "serve/ragkit_serve/",
    "serve/ragkit_models/",
    "eval/ragkit_eval/",
    "tune/ragkit_tune/",
}
# The steps in words that the numbers on a picture's arrows are of.
STEPS: Final = {1: "A document's way", 2: "A question's way"}
_GROUP: Final = re.compile(r'subgraph \w+\["([^"<]+)"\]')
_BOX: Final = re.compile(r'(\w+)\["([^"<]+)(?:<br/>[^"]+)?"\]')
_ARROW: Final = re.compile(r'(\w+) (-->|-\.->)(?:\|"([^"]+)"\|)? (\w+)')


@dataclass
class Picture:
    """A diagram: paths of its boxes by their names, and its arrows with what they say."""

    boxes: dict[str, str] = field(default_factory=dict)
    arrows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def pairs(self, kind: str) -> set[tuple[str, str]]:
        """Give the paths at both ends of each solid or dashed arrow."""
        return {
            (self.boxes[start], self.boxes[end])
            for start, arrow, _, end in self.arrows
            if arrow == kind
        }


def read_picture(diagram: str) -> Picture:
    """Read a diagram; every line of it must be one that is understood."""
    picture, folder = Picture(), ""
    first, *lines = (line.strip() for line in diagram.splitlines())
    assert re.fullmatch(r"flowchart (TB|LR)", first)
    for line in lines:
        if group := _GROUP.fullmatch(line):
            folder = group[1]
        elif line == "end":
            folder = ""
        elif box := _BOX.fullmatch(line):
            picture.boxes[box[1]] = folder + box[2]
        else:
            arrow = _ARROW.fullmatch(line)
            assert arrow, f"neither a box nor an arrow: {line}"
            picture.arrows.append((arrow[1], arrow[2], arrow[3] or "", arrow[4]))
    return picture


PICTURES: Final = [
    read_picture(text) for text in re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)
]
SOLID: Final = sorted({pair for picture in PICTURES for pair in picture.pairs("-->")})
DASHED: Final = sorted({pair for picture in PICTURES for pair in picture.pairs("-.->")})


def module_of(path: str) -> str:
    """Give the dotted name of a folder or file of a package."""
    parts = path.removesuffix("/").removesuffix(".py").split("/")
    return ".".join(parts[next(i for i, part in enumerate(parts) if "ragkit" in part) :])


def is_within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


@cache
def imported(file: Path) -> frozenset[str]:
    """Collect what a file imports anywhere in it: modules, and names of modules."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            assert node.module, f"a relative import in {file}"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


def imports(start: str, end: str) -> bool:
    """Tell whether a file of one box imports something of another."""
    target = module_of(end)
    word = target.rpartition(".")[2].encode()
    return any(
        is_within(name, target)
        for file in files_of(start)
        if not is_within(module_of(file.relative_to(ROOT).as_posix()), target)
        if word in file.read_bytes()
        for name in imported(file)
    )


def files_of(path: str) -> Iterator[Path]:
    return (ROOT / path).rglob("*.py") if path.endswith("/") else iter([ROOT / path])


def test_there_are_the_parts_and_both_ways() -> None:
    parts, document, question = PICTURES
    assert set(parts.boxes.values()) == PACKAGES
    assert {"ingest/ragkit_ingest/parse/", "ragkit/embed/"} <= set(document.boxes.values())
    assert {"ragkit/retrieve/", "ragkit/answer/check/"} <= set(question.boxes.values())


@pytest.mark.parametrize("picture", PICTURES, ids=["parts", "document", "question"])
def test_every_box_is_a_folder_or_a_module_and_has_an_arrow(picture: Picture) -> None:
    wrong = [
        path
        for path in picture.boxes.values()
        if not (ROOT / path).exists() or (ROOT / path).is_dir() != path.endswith("/")
    ]
    assert wrong == []
    ends = {name for start, _, _, end in picture.arrows for name in (start, end)}
    assert ends == picture.boxes.keys()


@pytest.mark.parametrize(("start", "end"), SOLID)
def test_a_solid_arrow_is_an_import(start: str, end: str) -> None:
    assert imports(start, end), f"nothing in {start} imports {end}"


@pytest.mark.parametrize(("start", "end"), DASHED)
def test_a_dashed_arrow_is_no_import(start: str, end: str) -> None:
    assert not imports(start, end), f"{start} imports {end}: make the arrow solid"


def test_the_picture_of_the_parts_has_all_their_imports() -> None:
    real = {pair for pair in permutations(sorted(PACKAGES), 2) if imports(*pair)}
    assert PICTURES[0].pairs("-->") == real


@pytest.mark.parametrize("number", STEPS)
def test_the_numbers_on_arrows_are_those_of_the_steps(number: int) -> None:
    words = PAGE.partition(f"\n## {STEPS[number]}\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^(\d+)\. ", words, re.MULTILINE)
    labels = " ".join(label for _, _, label, _ in PICTURES[number].arrows)
    numbers = set(re.findall(r"\d+", labels))
    assert len(numbers) >= 5
    assert numbers <= set(steps)


def test_imports_are_told_from_other_names() -> None:
    assert imports("ragkit/knowledge/base.py", "ragkit/retrieve/")
    assert imports("ragkit/retrieve/", "ragkit/retrieve/words/")
    assert not imports("ragkit/text/", "ragkit/answer/")
    assert not imports("ragkit/retrieve/", "ragkit/retrieve/word/")
