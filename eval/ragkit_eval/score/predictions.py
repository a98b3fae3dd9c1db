"""Read predictions of other programs, with their references: JSON lines, CSV or TSV."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragkit.errors import UsageError
from ragkit_eval.sets.fields import field, json_lines, optional, read_text

REFERENCES = ("references", "reference", "answers")  # tried in this order unless a name is given
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_Row = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Prediction:
    """One prediction with its references; `where` is its FILE:LINE. Absent fields are empty."""

    id: str
    text: str
    references: tuple[str, ...]
    where: str
    question: str = ""
    group: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Fields:
    """The names of the fields in the files."""

    id: str = "id"
    prediction: str = "prediction"
    references: tuple[str, ...] = REFERENCES


def read_predictions(
    path: Path, references: Path | None = None, *, fields: Fields | None = None
) -> tuple[Prediction, ...]:
    """Read predictions, with references from the same file or another one.

    Two files are joined by id where both have ids, else line by line. A reference is a text or a
    list of texts, also one written as JSON within a text, as in CSV. A file whose name ends in .csv
    or .tsv has a line of column names first; any other is JSON lines. Raises NotFoundError, and
    UsageError naming file and line: for malformed lines, a missing, empty or second prediction or
    reference, and files that do not match.
    """
    names = fields or Fields()
    rows = list(_read_rows(path))
    if not rows:
        raise UsageError(f"{path}: there is no prediction in it: an empty set has no score")
    predictions = _index_rows(rows, names.id)
    reference_rows = (
        predictions
        if references is None
        else _read_references(predictions, references, names, path)
    )
    return tuple(
        Prediction(
            id=id,
            text=field(values, names.prediction, str, where),
            references=_find_references(*reference_rows[id], names.references),
            where=where,
            question=_find_text("question", values, reference_rows[id][1], where),
            group=_find_text("group", values, reference_rows[id][1], where),
            cluster=_find_text("cluster", values, reference_rows[id][1], where),
        )
        for id, (where, values) in predictions.items()
    )


def _read_rows(path: Path) -> Iterator[_Row]:
    delimiter = _DELIMITERS.get(path.suffix.lower())
    return json_lines(path) if delimiter is None else _read_table(path, delimiter)


def _read_table(path: Path, delimiter: str) -> Iterator[_Row]:
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


def _index_rows(rows: Sequence[_Row], name: str) -> dict[str, _Row]:
    """Index rows by their id, or by their number where no row has one."""
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


def _read_references(
    answers: Mapping[str, _Row], path: Path, names: Fields, predictions: Path
) -> dict[str, _Row]:
    """Read another file's references, and check that it matches the predictions."""
    rows = list(_read_rows(path))
    has_ids = any(names.id in values for _, values in rows)
    if any(names.id in values for _, values in answers.values()) != has_ids:
        with_ids, without_ids = (path, predictions) if has_ids else (predictions, path)
        raise UsageError(
            f"{with_ids} has a field {names.id!r} and {without_ids} has none:"
            " give both ids, or neither"
        )
    if not has_ids and len(rows) != len(answers):
        raise UsageError(
            f"{predictions} has {len(answers)} predictions and {path} {len(rows)} references: "
            f"give as many, or the field {names.id!r} in both"
        )
    references = _index_rows(rows, names.id)
    for id, (where, _) in answers.items():
        if id not in references:
            raise UsageError(f"{where}: {path} has no reference with the id {id!r}: add it")
    missing = [(id, where) for id, (where, _) in references.items() if id not in answers]
    if missing:
        raise UsageError(
            f"{missing[0][1]}: {predictions} has no prediction for {len(missing)} of "
            f"{len(references)} references, first {missing[0][0]!r}: predict it, or leave it"
            " out here"
        )
    return references


def _find_references(
    where: str, values: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[str, ...]:
    name = next((name for name in names if name in values), None)
    if name is None:
        raise UsageError(
            f"{where}: there is no reference: give it as {' or '.join(map(repr, names))}"
        )
    value = values[name]
    texts = _parse_list(value) if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        excerpt = json.dumps(value, ensure_ascii=False)[:60]
        raise UsageError(f"{where}: {name!r} must be a text or a list of texts, not {excerpt}")
    return tuple(texts)


def _parse_list(text: str) -> list[Any]:
    """Return the list that a text holds as JSON (CSV has no lists), else the text alone."""
    if text.startswith("["):
        try:
            values = json.loads(text)
        except ValueError:
            return [text]
        if values and all(isinstance(value, str) for value in values):
            return list(values)
    return [text]


def _find_text(
    name: str, values: Mapping[str, Any], reference_values: Mapping[str, Any], where: str
) -> str:
    """Return an optional text of the prediction's row, else of the reference's."""
    return optional(values, name, "", where) or optional(reference_values, name, "", where)
