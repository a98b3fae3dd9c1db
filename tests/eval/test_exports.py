"""What the evaluation's packages export stays what it is, whatever is imported first."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import ragkit_eval

LAZY = [
    f"ragkit_eval.{module.name}"
    for module in iter_modules(ragkit_eval.__path__)
    if module.ispkg and hasattr(import_module(f"ragkit_eval.{module.name}"), "__getattr__")
]


def test_there_are_such_packages() -> None:
    assert len(LAZY) >= 6


@pytest.mark.parametrize("name", ["ragkit_eval", *LAZY])
def test_no_lazy_export_has_the_name_of_a_module(name: str) -> None:
    """Importing the module would put it in the export's place."""
    package = import_module(name)
    modules = {path.stem for folder in package.__path__ for path in Path(folder).iterdir()}
    assert set(package.__all__) & modules == set()
