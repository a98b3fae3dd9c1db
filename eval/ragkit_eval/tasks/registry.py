"""Tasks by name: those that come with ragkit, and one's own by the path of its file.

It finds declarations and the folder of their data; it reads no data itself.
"""

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
    known = []
    for path in sorted(_FILES.glob(f"*{SUFFIX}")):
        known += [path.stem, *(f"{path.stem}:{form}" for form in forms(path))]
    return tuple(known)


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

    `data` is the folder that the tasks' own folders are in; the data of a task given by its file is
    sought beside that file. `limit` takes so many items, the same for everybody; `groups` only
    these subjects. `execute_code` lets a task run what a model wrote, and `weak_sandbox` lets it
    do so where the machine cannot confine programs.

    Raises UsageError for an unknown name (with close ones), form or group, for a file that is not
    right, for a limit below 1, for missing leave; NotFoundError naming the folder that lacks data.
    """
    spec, root = find_spec(name, data=data)
    if limit is not None and limit < 1:
        raise UsageError(f"the limit of items is {limit}: it must be 1 or more")
    scorer = make_scorer(spec, execute_code=execute_code, weak_sandbox=weak_sandbox)
    task = DeclaredTask(spec, root, scorer, limit, tuple(groups))
    task.check()
    return task


def find_spec(name: str, *, data: Path | None) -> tuple[Spec, Path]:
    """Return a task's declaration and the folder where its data is expected."""
    path, form = _file(name)
    if path is None:
        plain, _, form = name.partition(":")
        known = names()
        if name not in known:
            raise UsageError(
                unknown("task", name, known) + "; or give the path of a task's own .toml file"
            )
        spec = read_spec(_FILES / f"{plain}{SUFFIX}", form=form, name=plain)
        if data is None:
            raise UsageError(
                f"{name}: say where its data is: --data DIR, or RAGKIT_EVAL_DATA in the "
                f"environment; expected is DIR/{spec.data.folder}"
            )
        return spec, data / spec.data.folder
    spec = read_spec(path, form=form, name=path.stem)
    return spec, path.parent / spec.data.folder


def _file(name: str) -> tuple[Path | None, str]:
    """Return the file and form that a name means, no file when it means a task of ragkit's."""
    if name.endswith(SUFFIX):
        return Path(name), ""
    file, colon, form = name.rpartition(":")
    if colon and file.endswith(SUFFIX):
        return Path(file), form
    return None, ""
