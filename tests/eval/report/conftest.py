"""Small run files of each kind, read as the command reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ragkit_eval.compare.compare import Comparison
from ragkit_eval.report import html
from ragkit_eval.report.report import compared
from ragkit_eval.run.record import Run, read_run
from tests.eval.report import runs


def slim(*paths: Path) -> list[Run]:
    return [read_run(path, texts=False) for path in paths]


@pytest.fixture(scope="session")
def choice_paths(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    folder = tmp_path_factory.mktemp("choices")
    few: dict[str, Any] = {"subjects": runs.SUBJECTS[:12], "per_subject": 40}
    return [
        runs.choices(folder / "a.jsonl", name="small", seed=1, right=0.55, errors=0.02, **few),
        runs.choices(folder / "b.jsonl", name="large", seed=2, right=0.65, latency_s=0.1, **few),
    ]


@pytest.fixture(scope="session")
def answer_paths(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    folder = tmp_path_factory.mktemp("answers")
    return [
        runs.answers(folder / "a.jsonl", name="extractive", which=0, copies=15),
        runs.answers(folder / "b.jsonl", name="written", which=1, copies=15),
    ]


@pytest.fixture
def choice_runs(choice_paths: Sequence[Path]) -> list[Run]:
    return slim(*choice_paths)


@pytest.fixture
def answer_runs(answer_paths: Sequence[Path]) -> list[Run]:
    return slim(*answer_paths)


@pytest.fixture(scope="session")
def choice_comparison(choice_paths: Sequence[Path]) -> Comparison:
    comparison = compared(slim(*choice_paths))
    assert comparison is not None
    return comparison


@pytest.fixture(scope="session")
def answer_comparison(answer_paths: Sequence[Path]) -> Comparison:
    comparison = compared(slim(*answer_paths))
    assert comparison is not None
    return comparison


@pytest.fixture(scope="session")
def choice_page(choice_paths: Sequence[Path]) -> str:
    """The page of two runs of choices, without their comparison."""
    return html(slim(*choice_paths), None)


@pytest.fixture(scope="session")
def answer_page(answer_paths: Sequence[Path]) -> str:
    """The page of two runs of answers, without their comparison."""
    return html(slim(*answer_paths), None)


@pytest.fixture(scope="session")
def compared_page(answer_paths: Sequence[Path], answer_comparison: Comparison) -> str:
    """The page of two runs of answers, with their comparison."""
    return html(slim(*answer_paths), answer_comparison)
