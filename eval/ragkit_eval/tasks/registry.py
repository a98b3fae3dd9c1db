"""Tasks by name: the tasks that come with ragkit, and custom tasks by the path of their file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ragkit.errors import UsageError
from ragkit_eval.tasks.scorers import make_scorer
from ragkit_eval.tasks.spec import Spec, forms, read_spec, unknown
from ragkit_eval.tasks.task import DeclaredTask

_FILES = Path(__file__).with_name("files")
SUFFIX = ".toml"


@cache
def names() -> tuple[str, ...]:
    """Return the names of the tasks that come with ragkit, each form after its task."""
    task_names = []
    for path in sorted(_FILES.glob(f"*{SUFFIX}")):
        task_names += [path.stem, *(f"{path.stem}:{form}" for form in forms(path))]
    return tuple(task_names)


def open_task(
    name: str,
    *,
    data: Path | None,
    limit: int | None = None,
    groups: Sequence[str] = (),
    execute_code: bool = False,
    weak_sandbox: bool = False,
) -> DeclaredTask:
    """Open a task by name, "mmlu" or "bbh:cot", or by its file, "my/exam.toml" or "exam.toml:FORM".

    `data` is the folder that has a folder for each task; the data of a task that is named by its
    file is beside that file. `limit` takes that many items, always the same; `groups` takes only
    these subjects. `execute_code` lets a task run the code that a model wrote, `weak_sandbox` also
    where the machine cannot confine programs.

    Raises UsageError for an unknown name (with close ones), form or group, for a malformed file,
    for a limit below 1, and without the permission to run code; NotFoundError naming the folder
    that lacks data.
    """
    spec, root = find_spec(name, data=data)
    if limit is not None and limit < 1:
        raise UsageError(f"the limit of items is {limit}: it must be 1 or more")
    scorer = make_scorer(spec, execute_code=execute_code, weak_sandbox=weak_sandbox)
    task = DeclaredTask(spec, root, scorer, limit, tuple(groups))
    task.check()
    return task


def find_spec(name: str, *, data: Path | None) -> tuple[Spec, Path]:
    """Return the declaration of a task and the expected folder of its data."""
    path, form = _file(name)
    if path is None:
        plain_name, _, form = name.partition(":")
        task_names = names()
        if name not in task_names:
            raise UsageError(
                unknown("task", name, task_names) + "; or give the path of a task's own .toml file"
            )
        spec = read_spec(_FILES / f"{plain_name}{SUFFIX}", form=form, name=plain_name)
        if data is None:
            raise UsageError(
                f"{name}: name the folder of its data with --data DIR or RAGKIT_EVAL_DATA; "
                f"expected is DIR/{spec.data.folder}"
            )
        return spec, data / spec.data.folder
    spec = read_spec(path, form=form, name=path.stem)
    return spec, path.parent / spec.data.folder


def _file(name: str) -> tuple[Path | None, str]:
    """Return the file and form of a name; the file is None for a task that comes with ragkit."""
    if name.endswith(SUFFIX):
        return Path(name), ""
    file, colon, form = name.rpartition(":")
    if colon and file.endswith(SUFFIX):
        return Path(file), form
    return None, ""
