"""Every example in a docstring runs as it stands."""

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = ("ragkit", "ragkit_ingest", "ragkit_serve", "ragkit_eval")
MODULES = sorted(
    module.name
    for package in map(importlib.import_module, PACKAGES)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    attempted = [doctest.testmod(importlib.import_module(name)).attempted for name in MODULES]
    assert sum(attempted) > 40
