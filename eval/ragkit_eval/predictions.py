"""Predictions made elsewhere, with their references: JSON lines, CSV or TSV. Knows no metric."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragkit.errors import UsageError
from ragkit_eval.sets.fields import field, json_lines, optional, read_text

REFERENCES = ("references", "reference", "answers")  # names tried where none is told
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_Row = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Prediction:
    """One prediction with its references; `where` is its FILE:LINE. What a file lacks is empty."""

    id: str
    text: str
    references: tuple[str, ...]
    where: str
    question: str = ""
    group: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Fields:
    """What the fields of the files are called."""

    id: str = "id"
    prediction: str = "prediction"
    references: tuple[str, ...] = REFERENCES


def read_predictions(
    path: Path, references: Path | None = None, *, fields: Fields | None = None
) -> tuple[Prediction, ...]:
    """Read predictions, with references out of the same file or another one.

    Two files are joined by id, where both have ids, else line by line. A reference is a text or a
    list of texts, also one written as JSON within a text, as in CSV. A file whose name ends in
    .csv or .tsv has a line of names first; any other is JSON lines. Raises NotFoundError, and
    UsageError naming file and line: for lines that cannot be read, a missing, empty or second
    prediction or reference, and files that do not match.
    """
    names = fields or Fields()
    rows = list(_rows(path))
    if not rows:
        raise UsageError(f"{path}: there is no prediction in it: an empty set has no score")
    own = _by_id(rows, names.id)
    theirs = own if references is None else _joined(own, references, names, path)
    return tuple(
        Prediction(
            id=id,
            text=field(values, names.prediction, str, where),
            references=_references(*theirs[id], names.references),
            where=where,
            question=_told("question", values, theirs[id][1], where),
            group=_told("group", values, theirs[id][1], where),
            cluster=_told("cluster", values, theirs[id][1], where),
        )
        for id, (where, values) in own.items()
    )


def _rows(path: Path) -> Iterator[_Row]:
    delimiter = _DELIMITERS.get(path.suffix.lower())
    return json_lines(path) if delimiter is None else _table(path, delimiter)


def _table(path: Path, delimiter: str) -> Iterator[_Row]:
    reader = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=delimiter, strict=True)
    names: list[str] = []
    line = 1
    try:
        for row in reader:
            where, line = f"{path}:{line}", reader.line_num + 1
            if not row:
                continue
            if not names:
                names = row
                _check_names(names, where)
                continue
            if len(row) != len(names):
                raise UsageError(
                    f"{where}: {len(row)} fields where the first line names {len(names)}: "
                    'put a text with commas or line ends between "'
                )
            yield where, dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise UsageError(
            f"{path}:{line}: not a line of CSV: {error}: correct it, or use JSON lines"
        ) from error


def _check_names(names: Sequence[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{where}: two columns are named {name!r}: give each its own name")


def _by_id(rows: Sequence[_Row], name: str) -> dict[str, _Row]:
    """Key rows by their id; by their number where none has one."""
    if not any(name in values for _, values in rows):
        return {str(number): row for number, row in enumerate(rows, 1)}
    keyed: dict[str, _Row] = {}
    for where, values in rows:
        id = values.get(name)
        if not isinstance(id, str | int) or isinstance(id, bool) or id == "":
            raise UsageError(f"{where}: {name!r} must be a text or a whole number on every line")
        if str(id) in keyed:
            raise UsageError(f"{where}: the id {id!r} stands already at {keyed[str(id)][0]}")
        keyed[str(id)] = (where, values)
    return keyed


def _joined(
    own: Mapping[str, _Row], path: Path, names: Fields, predictions: Path
) -> dict[str, _Row]:
    rows = list(_rows(path))
    has_ids = any(names.id in values for _, values in rows)
    if any(names.id in values for _, values in own.values()) != has_ids:
        told, without = (path, predictions) if has_ids else (predictions, path)
        raise UsageError(
            f"{told} has a field {names.id!r} and {without} has none: give both ids, or neither"
        )
    if not has_ids and len(rows) != len(own):
        raise UsageError(
            f"{predictions} has {len(own)} predictions and {path} {len(rows)} references: "
            f"give as many, or the field {names.id!r} in both"
        )
    theirs = _by_id(rows, names.id)
    for id, (where, _) in own.items():
        if id not in theirs:
            raise UsageError(f"{where}: {path} has no reference with the id {id!r}: add it")
    missing = [(id, where) for id, (where, _) in theirs.items() if id not in own]
    if missing:
        raise UsageError(
            f"{missing[0][1]}: {predictions} has no prediction for {len(missing)} of "
            f"{len(theirs)} references, first {missing[0][0]!r}: predict it, or leave it out here"
        )
    return theirs


def _references(where: str, values: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    name = next((name for name in names if name in values), None)
    if name is None:
        raise UsageError(
            f"{where}: there is no reference: give it as {' or '.join(map(repr, names))}"
        )
    value = values[name]
    texts = _listed(value) if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        shown = json.dumps(value, ensure_ascii=False)[:60]
        raise UsageError(f"{where}: {name!r} must be a text or a list of texts, not {shown}")
    return tuple(texts)


def _listed(text: str) -> list[Any]:
    """Return a text as a list of one, or the list that it is: CSV can hold lists as JSON alone."""
    if text.startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            return [text]
        if found and all(isinstance(one, str) for one in found):
            return list(found)
    return [text]


def _told(name: str, values: Mapping[str, Any], others: Mapping[str, Any], where: str) -> str:
    return optional(values, name, "", where) or optional(others, name, "", where)
