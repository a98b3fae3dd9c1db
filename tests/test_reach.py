"""What `.ci/run` takes after a change: what the change can reach, and everything in doubt."""

import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.reach import STEPS, CheckFile, changed, last_passed, main, reached, read_tests, steps

FILES = read_tests(ROOT)
TREE = {
    "benchmarks/gate.py": "from ragkit_eval.run.record import read_run\n",
    "benchmarks/sides.py": "from ragkit_eval.stats import median\n",
    "tests/benchmarks/test_sides.py": "from benchmarks import sides\ndef test_it() -> None: ...\n",
    "tests/serve/soak.py": "from ragkit.testing.stub_server.server import StubServer\n",
    "tests/conftest.py": "import ragkit\n",
    "tests/core/test_plain.py": "def test_it() -> None: ...\n",
    "tests/core/test_mixed.py": (
        "@pytest.mark.long\ndef test_a() -> None: ...\n"
        "@pytest.mark.parametrize('n', [1, pytest.param(2, marks=pytest.mark.vllm)])\n"
        "def test_b(n: int) -> None: ...\n"
    ),
    "tests/ingest/conftest.py": "import ragkit_ingest\n",
    "tests/ingest/pdfs.py": "A = 1\n",
    "tests/ingest/script.py": "B = 1\n",
    "tests/ingest/words.py": "C = 1\n",
    "tests/ingest/test_pdf.py": (
        "from tests.ingest.pdfs import A\nfrom tests.ingest.words import (\n    C,\n)\n"
        "from tests.ingest import script\ndef test_it() -> None: ...\n"
    ),
    "tests/ingest/deep/test_run.py": (
        "pytestmark = [pytest.mark.faults]\nNAME = '../script.py'\ndef test_it() -> None: ...\n"
    ),
    "tests/ingest/test_script.py": "NAME = 'script.py'\ndef test_it() -> None: ...\n",
    "tests/eval/test_score.py": "import ragkit_eval\ndef test_it() -> None: ...\n",
    "tests/eval/test_page.py": 'PAGE = ROOT / "docs" / "metrics.md"\ndef test_it() -> None: ...\n',
    "tests/serve/test_page.py": (
        "from tests.ingest import pdfs\npytestmark = pytest.mark.browser\n"
        "def test_it() -> None:\n    ragkit('serve')\n"
    ),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name, text in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def small(tree: Path) -> list[CheckFile]:
    return read_tests(tree)


def reached_by(paths: list[str], files: list[CheckFile]) -> list[str]:
    return sorted(reached(paths, files))


def test_steps_follow_from_the_marks_of_each_test(small: list[CheckFile]) -> None:
    assert {file.path: file.steps for file in small if file.path.startswith("tests/core")} == {
        "tests/core/test_plain.py": {"test"},
        "tests/core/test_mixed.py": {"test", "test-long", "test-vllm"},
    }
    assert {file.path: file.steps for file in small}["tests/ingest/deep/test_run.py"] == {
        "test-faults"
    }


def test_a_helper_reaches_who_imports_or_starts_it(small: list[CheckFile]) -> None:
    assert reached_by(["tests/ingest/pdfs.py"], small) == [
        "tests/ingest/test_pdf.py",
        "tests/serve/test_page.py",
    ]
    assert reached_by(["tests/ingest/words.py"], small) == ["tests/ingest/test_pdf.py"]
    assert reached_by(["tests/ingest/script.py"], small) == [
        "tests/ingest/test_pdf.py",
        "tests/ingest/test_script.py",
    ]
    assert reached_by(["tests/ingest/conftest.py"], small) == [
        "tests/ingest/deep/test_run.py",
        "tests/ingest/test_pdf.py",
        "tests/ingest/test_script.py",
    ]
    assert reached_by(["tests/core/test_plain.py"], small) == ["tests/core/test_plain.py"]


def test_a_part_reaches_who_imports_it_or_runs_its_commands(small: list[CheckFile]) -> None:
    assert reached_by(["eval/ragkit_eval/run/record.py"], small) == [
        "benchmarks/gate.py",
        "tests/benchmarks/test_sides.py",
        "tests/eval/test_score.py",
    ]
    assert steps(["eval/ragkit_eval/run/record.py"], {"benchmarks/gate.py": ""}, small) == {
        "lint": frozenset(),
        "gate": frozenset(),
        "wheel": frozenset(),
    }
    assert reached_by(["docs/metrics.md"], small) == ["tests/eval/test_page.py"]


def test_a_step_has_only_its_files(small: list[CheckFile]) -> None:
    paths = ["tests/core/test_mixed.py", "tests/ingest/pdfs.py"]
    assert steps(paths, reached(paths, small), small) == {
        "lint": frozenset(),
        "test": {"tests/core/test_mixed.py", "tests/ingest/test_pdf.py"},
        "test-long": frozenset(),  # all that there are
        "test-vllm": frozenset(),
        "test-browser": frozenset(),
    }


@pytest.mark.parametrize(
    "path",
    (
        "ragkit/types.py ragkit/new/page.md constraints.txt pyproject.toml Makefile .ci/run"
        " other.toml tests/conftest.py tests/databases.py"
    ).split(),
)
def test_the_core_the_tools_and_the_unknown_reach_everything(path: str) -> None:
    reasons = reached([path], FILES)
    assert reasons.keys() == {file.path for file in FILES}
    assert steps([path], reasons, FILES) == dict.fromkeys(STEPS, frozenset())


def test_parts_do_not_reach_each_others_tests() -> None:
    for part, others in (("eval", "ingest"), ("serve", "eval/metrics"), ("ingest", "eval/metrics")):
        chosen = reached_by([f"{part}/ragkit_{part}/cli.py"], FILES)
        assert not [path for path in chosen if path.startswith(f"tests/{others}/")]
        own = [file.path for file in FILES if file.path.startswith(f"tests/{part}/test_")]
        assert own
        assert set(own) <= set(chosen)


def test_a_moved_test_is_looked_up_by_the_pages_that_name_it() -> None:
    chosen = reached_by(["tests/ingest/test_gone.py"], FILES)
    assert "tests/docs/test_guarantees.py" in chosen
    assert "tests/docs/test_references.py" in chosen
    assert len(chosen) < 15


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "config", "user.email", "a@example.com")
    git(tmp_path, "config", "user.name", "A")
    for name in ("a.py", "b.py", "名.py"):
        (tmp_path / name).write_text("1\n")
        git(tmp_path, "add", name)
        git(tmp_path, "commit", "--quiet", "--message", name)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_changes_are_those_since_the_last_commit_that_passed(repository: Path) -> None:
    record = repository / "passed"
    assert last_passed(repository, record) is None
    commits = git(repository, "rev-list", "HEAD").split()
    record.write_text(f"{'0' * 40}\n{commits[1]}\n{commits[2]}\n")
    assert last_passed(repository, record) == commits[1]
    (repository / "a.py").rename(repository / "c.py")
    assert changed(repository, commits[1]) == ["a.py", "c.py", "passed", "名.py"]


def test_the_steps_are_printed_and_the_reasons_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--all"]) == 0
    printed = capsys.readouterr()
    assert [line.split("\t") for line in printed.out.splitlines()] == [[s, ""] for s in STEPS]
    assert "everything, as asked" in printed.err
    with pytest.raises(SystemExit, match=r"tests\.reach: git diff: .*nothing-like-this"):
        main(["--since", "nothing-like-this"])
