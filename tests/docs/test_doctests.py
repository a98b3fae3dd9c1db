"""Every example in a docstring runs as it stands, and every module can be imported."""

import doctest
import importlib

import pytest

from tests.places import ROOT

FILES = {
    ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"): file
    for package in (
        "ragkit",
        "ingest/ragkit_ingest",
        "serve/ragkit_serve",
        "serve/ragkit_models",
        "eval/ragkit_eval",
        "tune/ragkit_tune",
    )
    for folder in [(ROOT / package).parent]
    for file in sorted((ROOT / package).rglob("*.py"))
}
WITH_EXAMPLES = [name for name, file in FILES.items() if ">>> " in file.read_text("utf-8")]


@pytest.fixture(autouse=True)
def siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find the scripts there that import each other as siblings."""
    monkeypatch.syspath_prepend(ROOT / "tune/ragkit_tune/worker")


def test_every_module_can_be_imported() -> None:
    assert len(FILES) > 800
    for name in FILES:
        importlib.import_module(name)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted or "+SKIP" in FILES[name].read_text("utf-8")
    assert result.failed == 0


def test_there_are_examples() -> None:
    assert len(WITH_EXAMPLES) > 100
