"""docs/first-change.md leads through three additions: each is made as written, and works.

They are made in a copy of the core, ragkit_ingest and ragkit_eval. The tests of the format and the
metric run there in a process of their own; the route is loaded into this process, whose server and
database it needs.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import httpx
import pytest
from pydantic import SecretStr

import ragkit_serve.api
from ragkit import Settings
from ragkit.access import keys
from ragkit.store.open import open_database
from ragkit.testing import FakeEmbedder
from tests.places import ROOT
from tests.serve.api import test_openapi
from tests.serve.api.conftest import Site

PAGE: Final = (ROOT / "docs" / "first-change.md").read_text(encoding="utf-8")
COPIED: Final = ("ragkit", "ingest/ragkit_ingest", "eval/ragkit_eval")
_FENCED: Final = re.compile(r"^(`{3,})(\w+)\n.*?^\1$", re.MULTILINE | re.DOTALL)
# A block of code with the line before it, which names the file.
_BLOCK: Final = re.compile(
    r"^[^\n]*?(?P<new>new file )?`(?P<path>[\w./-]+\.(?:py|md))`[^\n]*:\n\n"
    r"(?P<fence>`{3,})(?P<kind>python|diff)\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
COMMANDS: Final = re.findall(r"^\.venv/bin/python -m pytest (.*)$", PAGE, re.MULTILINE)

TESTS_OF_TODAY: Final = (
    "tests/ingest/parse/test_plain.py",
    "tests/eval/metrics/test_properties.py",
)


@dataclass(frozen=True)
class Edit:
    """A file that the page makes (`python`) or changes (`diff`)."""

    path: str
    kind: str
    body: str

    def apply(self, tree: Path) -> None:
        file = tree / self.path
        file.parent.mkdir(parents=True, exist_ok=True)
        if self.kind == "python":
            assert not (ROOT / self.path).exists(), f"{self.path} is there: the example is old"
            file.write_text(self.body, encoding="utf-8")
            return
        if not file.exists():
            shutil.copy(ROOT / self.path, file)
        text = file.read_text(encoding="utf-8")
        for hunk in re.split(r"^@@\n", self.body, flags=re.MULTILINE):
            before, after = side_of(hunk, "-"), side_of(hunk, "+")
            assert text.count(before) == 1, f"{self.path} has not exactly one place:\n{before}"
            text = text.replace(before, after)
        file.write_text(text, encoding="utf-8")


def side_of(hunk: str, mark: str) -> str:
    """Give the lines of a change that are there before it (`-`), or after it (`+`)."""
    lines = hunk.splitlines(keepends=True)
    assert all(line[0] in " +-" for line in lines), hunk
    return "".join(line[1:] for line in lines if line[0] in (" ", mark))


EDITS: Final = [
    Edit(block["path"], block["kind"], block["body"]) for block in _BLOCK.finditer(PAGE)
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the page needs, with all that it adds."""
    root = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name)  # with the compiled files, which stay valid
    for edit in EDITS:
        edit.apply(root)
    for path in ("tests/growth.py", *TESTS_OF_TODAY):
        shutil.copy(ROOT / path, root / path)
    (root / "plain.ini").write_text("[pytest]\n", encoding="utf-8")
    return root


def run(tree: Path, *arguments: str) -> str:
    """Run Python on the copy, and give what it prints."""
    folders = [tree, *(tree / part for part in ("ingest", "eval"))]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join(map(str, folders)),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # to load them takes longer than the tests
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_block_of_code_is_one_that_is_tried() -> None:
    kinds = [kind for _, kind in _FENCED.findall(PAGE)]
    assert len(EDITS) == len([kind for kind in kinds if kind in ("python", "diff")]) == 14
    assert set(kinds) == {"python", "diff", "sh"}
    for block in _BLOCK.finditer(PAGE):
        assert bool(block["new"]) == (block["kind"] == "python"), block["path"]


def test_every_path_of_the_page_is_there(tree: Path) -> None:
    text = _FENCED.sub("", PAGE)
    named = set(re.findall(r"`(\w[\w./-]*(?:/|\.(?:py|md|toml)))`", text))
    named |= {word for command in COMMANDS for word in shlex.split(command) if "/" in word}
    assert len(named) > 20
    assert sorted(p for p in named if not (ROOT / p).exists() and not (tree / p).exists()) == []


@pytest.mark.parametrize("check", ["check", "format --check"])
def test_the_code_of_the_page_is_in_the_style_of_the_house(tree: Path, check: str) -> None:
    for path in (edit.path for edit in EDITS if edit.path.endswith(".py")):
        # As if it stood in the checkout: ruff looks at the packages beside a file, too.
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *check.split(), "--stdin-filename", path, "-"],
            cwd=ROOT,
            input=(tree / path).read_bytes(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, f"{path}: {done.stdout.decode()}{done.stderr.decode()}"


@pytest.mark.parametrize("command", [line for line in COMMANDS if "tests/serve" not in line])
def test_the_tests_of_the_format_and_the_metric_pass(tree: Path, command: str) -> None:
    words = shlex.split(command)
    printed = run(tree, "-m", "pytest", "-q", "-c", "plain.ini", "--noconftest", *words)
    assert re.search(r"^\d+ passed", printed, re.MULTILINE), printed


def test_the_new_names_are_known_to_the_rest(tree: Path) -> None:
    code = (
        "import doctest\n"
        "from ragkit.documents.formats import KINDS, UPLOADED, refusal\n"
        "from ragkit_eval.metrics import jaccard\n"
        "from ragkit_eval.metrics.registry import names, options\n"
        "print('.gmi' in UPLOADED, refusal('a.gmi') == '')\n"
        "print(KINDS['.gmi'], KINDS['text/gemini'])\n"
        "print('jaccard' in names(), options('jaccard'), doctest.testmod(jaccard))\n"
    )
    assert run(tree, "-c", code).splitlines() == [
        "True True",
        "text text",
        "True () TestResults(failed=0, attempted=1)",
    ]


@pytest.fixture
def site(fresh_database: str) -> Iterator[Site]:
    """Servers over a database without documents."""
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        site = Site(fresh_database, database, FakeEmbedder())
        with site.open:
            yield site


def load(name: str, file: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    """Import a file under a name, for one test."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_the_route_answers_and_is_described(
    tree: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(*scopes: str) -> str:
        return keys.create(site.database, name="test", scopes=scopes).secret

    api = tree / "serve" / "ragkit_serve" / "api"
    route = load("ragkit_serve.api.formats", api / "formats.py", monkeypatch)
    monkeypatch.setattr(ragkit_serve.api, "formats", route, raising=False)
    app = load("ragkit_serve.api.changed_app", api / "app.py", monkeypatch)
    monkeypatch.setattr("tests.serve.api.conftest.create_app", app.create_app)
    test_openapi.test_every_operation_says_what_it_does_needs_and_answers(site.serve)
    with site.serve() as live:
        described: Any = httpx.get(f"{live.url}/openapi.json").json()
    assert described["paths"]["/v1/formats"]["get"]["tags"] == ["documents"]
    shown = load("first_change_route", tree / "tests/serve/api/test_formats.py", monkeypatch)
    tests = [value for name, value in vars(shown).items() if name.startswith("test_")]
    assert len(tests) == 1
    tests[0](site.serve, key)
