"""Check every metric and scorer against external oracles and negative controls."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ragkit.errors import NotFoundError, RagkitError
from ragkit_eval.selftest import answers, retrieval, rouge, significance, tasks, texts
from ragkit_eval.selftest.check import Check as Check
from ragkit_eval.selftest.check import left_out


def selftest(data: Path | None, *, execute_code: bool = False) -> Iterator[Check]:
    """Yield each check when it is done.

    `data` has the folders oracles/ and tasks/; without it, only the checks without data are made.
    A check that cannot be made is a Check with the reason. Raises NotFoundError for a missing
    folder.
    """
    if data is not None and not data.is_dir():
        raise NotFoundError(f"there is no folder {data}: name the one with oracles/ and tasks/")
    yield from texts.checks()
    yield from answers.checks()
    yield tasks.scorers()
    yield tasks.graded_scorers()
    for subject, needs, make in _WITH_DATA:
        missing = [name for name in needs if data is None or not (data / name).exists()]
        if data is None or missing:
            where = f"no {missing[0]} in {data}" if data else "no data: name it with --data"
            yield left_out(subject, "", where)
        else:
            yield from _readable(subject, make(data))
    subject, oracle = "humaneval, sandbox", "reference and wrong solutions"
    if data is None or not (data / "tasks/humaneval").exists():
        yield left_out(subject, oracle, "no tasks/humaneval")
    elif not execute_code:
        yield left_out(subject, oracle, "runs programs: allow it with --execute-code")
    else:
        yield from _readable(subject, tasks.humaneval(data))


def _readable(subject: str, checks: Iterable[Check]) -> Iterator[Check]:
    """Yield a subject's checks; an unreadable oracle is a failed check."""
    try:
        yield from checks
    except _UNREADABLE as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        yield Check(subject, "the data", "files that can be read", reason, False)


_UNREADABLE: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    zlib.error,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RagkitError,
)
_Make = Callable[[Path], Iterable[Check]]
_WITH_DATA: tuple[tuple[str, tuple[str, ...], _Make], ...] = (
    ("ROUGE", ("oracles/rouge155",), lambda data: rouge.checks(data / "oracles/rouge155")),
    (
        "retrieval metrics",
        ("oracles/trec_eval",),
        lambda data: retrieval.checks(data / "oracles/trec_eval"),
    ),
    (
        "significance tests",
        ("oracles/wmt17",),
        lambda data: significance.checks(data / "oracles/wmt17"),
    ),
    ("bbh", ("oracles/bbh_direct", "tasks/bbh"), tasks.bbh),
    ("gsm8k", ("oracles/gsm8k", "tasks/gsm8k"), tasks.gsm8k),
    ("mmlu", ("tasks/mmlu",), tasks.choices),
)
