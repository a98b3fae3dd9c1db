"""Readers of TREC's text files: judgements ("qrels") and runs."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from ragkit.errors import NotFoundError, UsageError

T = TypeVar("T", int, float)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgements: per line a query, an ignored field, a document and an integer grade.

    Raises NotFoundError, and UsageError naming the file and the line.
    """
    qrels: dict[str, dict[str, int]] = {}
    for where, fields in _lines(path, at_least=4, at_most=4, form="query 0 document grade"):
        query, _, document, grade = fields
        try:
            value = int(grade.replace("_", "?"))  # Python reads 1_0 as 10
        except ValueError as error:
            raise UsageError(
                f"{where}: the grade {grade!r} is not a whole number: write 0 for not relevant"
            ) from error
        _add(qrels.setdefault(query, {}), document, value, f"{where}: query {query}")
    return qrels


def read_trec_run(path: Path) -> dict[str, dict[str, float]]:
    """Read a run: per line a query, Q0, a document, a rank, a score and the run's name.

    As in trec_eval only the score ranks; Q0, the rank and fields after the score are ignored.
    Raises NotFoundError, and UsageError naming the file and the line.
    """
    run: dict[str, dict[str, float]] = {}
    form = "query Q0 document rank score name"
    for where, (query, _, document, _, score, *_) in _lines(
        path, at_least=5, at_most=None, form=form
    ):
        try:
            value = float(score.replace("_", "?"))
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise UsageError(f"{where}: the score {score!r} is not a number: correct the line")
        _add(run.setdefault(query, {}), document, value, f"{where}: query {query}")
    return run


def _add(values: dict[str, T], document: str, value: T, where: str) -> None:
    if document in values:
        raise UsageError(f"{where} has the document {document!r} twice: leave one line out")
    values[document] = value


def _lines(
    path: Path, *, at_least: int, at_most: int | None, form: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the fields of each non-empty line."""
    empty = True
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}:{number}"
                fields = _text(line, where).split()
                if not fields:
                    continue
                if len(fields) < at_least or len(fields) > (at_most or len(fields)):
                    raise UsageError(
                        f"{where}: {len(fields)} fields: a line is '{form}', separated by blanks"
                    )
                empty = False
                yield where, fields
    except OSError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror}: name a file") from error
    if empty:
        raise UsageError(f"{path}: has no lines: a line is '{form}', separated by blanks")


def _text(line: bytes, where: str) -> str:
    try:
        return line.decode("utf-8-sig" if where.endswith(":1") else "utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: is not UTF-8: save the file as UTF-8") from error
