"""Find the logs that a path names, and the format of each by its content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.imported.harness import is_sample, read_harness
from ragkit_eval.imported.inspect_log import read_inspect_archive, read_inspect_json
from ragkit_eval.imported.json_text import MAX_LINE_BYTES, parse_object
from ragkit_eval.imported.task import ImportedTask

_ZIP = b"PK\x03\x04"
_HARNESS_FILES = "samples_*.jsonl"


def read_logs(paths: Sequence[Path]) -> tuple[ImportedTask, ...]:
    """Read logs, each a task; a folder stands for the samples of lm-evaluation-harness in it.

    Raises NotFoundError, and UsageError naming the file.
    """
    return tuple(_read_log(log) for path in paths for log in _list_logs(path))


def _list_logs(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    folders = [path]
    if not any(path.glob(_HARNESS_FILES)):
        # The harness writes into a folder of the model within the one that it was given.
        folders = sorted({log.parent for log in path.glob(f"*/{_HARNESS_FILES}")})
    if len(folders) > 1:
        names = ", ".join(folder.name for folder in folders[:5])
        raise UsageError(
            f"{path} has the logs of {len(folders)} models ({names}): import one folder at a time"
        )
    logs = [log for folder in folders for log in sorted(folder.glob(_HARNESS_FILES))]
    if not logs:
        raise UsageError(
            f"{path}: the folder has no {_HARNESS_FILES}: run lm-evaluation-harness with"
            " --log_samples, or name the files of Inspect"
        )
    return logs


def _read_log(path: Path) -> ImportedTask:
    try:
        with path.open("rb") as file:
            line = file.readline(MAX_LINE_BYTES + 1)
            while line.isspace():
                line = file.readline(MAX_LINE_BYTES + 1)
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}: check the path") from error
    if not line:
        raise UsageError(f"{path}: the log is empty: run the evaluation again")
    try:
        if line.startswith(_ZIP):
            return read_inspect_archive(path)
        return read_harness(path) if _is_harness(path, line) else read_inspect_json(path)
    except RecursionError as error:
        raise UsageError(f"{path}: its JSON is nested too deeply: leave the sample out") from error


def _is_harness(path: Path, line: bytes) -> bool:
    """Tell by the first line: an indented file's is no object, and a log of Inspect is one line."""
    if path.suffix.lower() == ".jsonl":
        return True
    try:
        return is_sample(parse_object(line, str(path)))
    except UsageError:
        return False
