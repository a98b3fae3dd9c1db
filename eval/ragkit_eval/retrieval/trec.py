"""Readers of TREC's text files: judgements ("qrels") and runs. They know nothing of metrics."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from ragkit.errors import NotFoundError, UsageError

T = TypeVar("T", int, float)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgements: per line a query, a field that is ignored, a document and a whole grade.

    Raises NotFoundError, and UsageError naming the file and the line.
    """
    qrels: dict[str, dict[str, int]] = {}
    for where, fields in _lines(path, least=4, most=4, wanted="query 0 document grade"):
        query, _, document, grade = fields
        try:
            value = int(grade.replace("_", "?"))  # 1_0 is Python's 10, and a slip of the pen here
        except ValueError as error:
            raise UsageError(
                f"{where}: the grade {grade!r} is no whole number: write 0 for not relevant"
            ) from error
        _add(qrels.setdefault(query, {}), document, value, f"{where}: query {query}")
    return qrels


def read_trec_run(path: Path) -> dict[str, dict[str, float]]:
    """Read a run: per line a query, Q0, a document, a rank, a score and the run's name.

    As in trec_eval the score alone ranks: the rank, the Q0 and whatever follows the score are
    ignored. Raises NotFoundError, and UsageError naming the file and the line.
    """
    run: dict[str, dict[str, float]] = {}
    wanted = "query Q0 document rank score name"
    for where, (query, _, document, _, score, *_) in _lines(
        path, least=5, most=None, wanted=wanted
    ):
        try:
            value = float(score.replace("_", "?"))
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise UsageError(f"{where}: the score {score!r} is no number: correct the line")
        _add(run.setdefault(query, {}), document, value, f"{where}: query {query}")
    return run


def _add(found: dict[str, T], document: str, value: T, where: str) -> None:
    if document in found:
        raise UsageError(f"{where} has the document {document!r} twice: leave one line out")
    found[document] = value


def _lines(
    path: Path, *, least: int, most: int | None, wanted: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the fields of each line that is not empty."""
    empty = True
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}:{number}"
                fields = _text(line, where).split()
                if not fields:
                    continue
                if len(fields) < least or len(fields) > (most or len(fields)):
                    raise UsageError(
                        f"{where}: {len(fields)} fields: a line is '{wanted}', between blanks"
                    )
                empty = False
                yield where, fields
    except OSError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror}: name a file") from error
    if empty:
        raise UsageError(f"{path}: has no lines: a line is '{wanted}', between blanks")


def _text(line: bytes, where: str) -> str:
    try:
        return line.decode("utf-8-sig" if where.endswith(":1") else "utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: is not UTF-8: save the file as UTF-8") from error
