"""What tests of tasks share: the published data, and tasks of one's own in a folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ragkit_eval.tasks.registry import open_task
from ragkit_eval.tasks.task import DeclaredTask

PLAIN = """
method = "generate"
scorer = "first-line"
metric = "exact_match"
[data]
files = ["rows.jsonl"]
[fields]
question = "question"
target = "answer"
"""
ROWS = '{"question": "1+1?", "answer": "2"}\n{"question": "首都？", "answer": "北京"}\n'

Write = Callable[..., Path]
MakeTask = Callable[..., DeclaredTask]


@pytest.fixture
def published(data: Path) -> Path:
    """The folder of published tasks."""
    return data / "tasks"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write files of a task below a folder: `write(**{"own.toml": ..., "rows.jsonl": ...})`."""

    def written(files: dict[str, str | bytes]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return written


@pytest.fixture
def make_task(write: Write) -> MakeTask:
    """Open a task of one's own, made of a declaration and of rows."""

    def opened(toml: str = PLAIN, rows: str | bytes = ROWS, **options: object) -> DeclaredTask:
        folder = write({"own.toml": toml, "rows.jsonl": rows})
        return open_task(str(folder / "own.toml"), data=None, **options)  # type: ignore[arg-type]

    return opened
