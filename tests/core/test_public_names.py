"""The public names, pinned; and that lazy exports are what type checkers are told they are."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import ragkit

PACKAGES = (
    "ragkit",
    "ragkit.testing",
    "ragkit_ingest",
    "ragkit_serve",
    "ragkit_eval",
)

NAMES = (
    "AccessError Answer Citation Client DatabaseError Decoding Document Hit IncompleteAnswerError"
    " IngestError KnowledgeBase ModelError NotFoundError OverloadedError RagkitError Reasoning"
    " ServerError Settings SettingsError Turn UsageError load_settings"
)


def source(package: ModuleType) -> Path:
    assert package.__file__ is not None
    return Path(package.__file__)


def told_to_type_checkers(package: ModuleType) -> dict[str, str]:
    """Read {name: module} from the imports under `if TYPE_CHECKING`, each `X as X`."""
    told: dict[str, str] = {}
    for node in ast.parse(source(package).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                assert isinstance(statement, ast.ImportFrom)
                assert statement.module is not None
                for alias in statement.names:
                    assert alias.name == alias.asname, "no explicit re-export"
                    told[alias.name] = statement.module
    return told


def test_public_names() -> None:
    assert ragkit.__all__ == NAMES.split()  # type: ignore[attr-defined]
    assert ragkit.__version__ == "0.1.0"


@pytest.mark.parametrize("name", PACKAGES)
def test_every_export_is_what_type_checkers_are_told(name: str) -> None:
    package = import_module(name)
    told = told_to_type_checkers(package)
    assert sorted(told) == package.__all__ != []
    for export, module in told.items():
        assert getattr(package, export) is getattr(import_module(module), export)
        assert export in dir(package)


@pytest.mark.parametrize("name", PACKAGES)
def test_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'KnowledgeBaze'"):
        _ = import_module(name).KnowledgeBaze


def test_mypy_sees_a_wrong_name(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy comes with the extra `dev`")
    script = tmp_path / "user.py"
    script.write_text("import ragkit\nragkit.KnowledgeBase\nragkit.KnowledgeBaze\n")
    # The modules behind the names are not followed: `make check` checks those as a whole.
    run = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file", "", "--cache-dir", str(tmp_path)),
            *("--follow-imports", "skip", "--ignore-missing-imports"),
            *(str(source(ragkit)), str(source(ragkit).with_name("_lazy.py")), str(script)),
        ],
        capture_output=True,
        text=True,
        cwd=source(ragkit).parents[1],
        timeout=300,
    )
    errors = [line for line in run.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 1, run.stdout + run.stderr
    assert 'Module has no attribute "KnowledgeBaze"' in errors[0]
