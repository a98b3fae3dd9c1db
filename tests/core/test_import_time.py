"""Importing ragkit and its values loads nothing but the standard library."""

import subprocess
import sys

import pytest

OWN = {"ragkit", "ragkit_ingest", "ragkit_serve", "ragkit_models", "ragkit_eval", "ragkit_tune"}


def loaded_by(statement: str) -> set[str]:
    """Name the top-level packages that a statement loads in a new interpreter."""
    code = (
        f"import sys; before = set(sys.modules); {statement}\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import ragkit",
        "import ragkit_ingest",
        "import ragkit_serve",
        "import ragkit_eval",
        "import ragkit_tune",
        "import ragkit.testing",
        "import ragkit; ragkit.Hit, ragkit.NotFoundError, dir(ragkit)",
        "import ragkit.contracts, ragkit.text.analyse, ragkit.text.sentences",
    ],
)
def test_no_third_party_package_is_loaded(statement: str) -> None:
    loaded = loaded_by(statement)
    assert loaded & OWN
    assert loaded - OWN - sys.stdlib_module_names == set()


def test_the_check_would_notice_one() -> None:
    assert "pydantic" in loaded_by("import ragkit; ragkit.Settings") - sys.stdlib_module_names
