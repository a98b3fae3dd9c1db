"""A data folder: rows to train on, rows to stop by, questions to prove by, and their card.

The card holds a hash of each file, so that no run trains on rows that changed after the checks.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ragkit.errors import NotFoundError, UsageError
from ragkit.system.private_files import make_private, private

RowsKind = Literal["pairs", "chat", "preference", "completion"]
Split = Literal["train", "dev", "test"]

SPLITS: Final[tuple[Split, ...]] = get_args(Split)
CARD: Final = "card.json"
FORMAT: Final = 1
MAX_LINE_CHARS: Final = 4_000_000  # of a row; arbitrary, bounds what a damaged file costs

_TEXTS: Final = ("id", "query", "positive", "document", "how", "language", "group")
_FIELDS: Final = (*_TEXTS, "negatives", "start", "end", "scores")
_OPTIONAL: Final = {"negatives": [], "scores": [], "how": "", "language": "", "group": ""}


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data folder as its card describes it; `hash` changes with any byte of its rows."""

    folder: Path
    rows_kind: RowsKind
    counts: Mapping[str, int]
    hash: str
    card: Mapping[str, Any]

    def path(self, split: Split) -> Path:
        """Return the file of one split."""
        return self.folder / f"{split}.jsonl"


@dataclass(frozen=True, slots=True)
class PairRow:
    """A query with the passage that answers it, and passages that are close but do not.

    `positive` is `start:end` of the text of `document`, a URI. `scores` are a teacher's: of the
    positive, then of each negative; empty without a teacher.
    """

    id: str
    query: str
    positive: str
    document: str
    start: int
    end: int
    negatives: tuple[str, ...] = ()
    how: str = ""
    language: str = ""
    group: str = ""
    scores: tuple[float, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the row as its file has it; `scores` only where there are any."""
        values: dict[str, Any] = {
            "id": self.id,
            "query": self.query,
            "positive": self.positive,
            "negatives": list(self.negatives),
            "document": self.document,
            "start": self.start,
            "end": self.end,
            "how": self.how,
            "language": self.language,
            "group": self.group,
        }
        return values | {"scores": list(self.scores)} if self.scores else values


def read_data_set(folder: Path) -> DataSet:
    """Read a data folder's card and compare its files with the hashes in it.

    Raises NotFoundError for a file that is absent, UsageError for one that changed since.
    """
    path = folder / CARD
    card = _read_card(path)
    kind: RowsKind | None = next((k for k in get_args(RowsKind) if k == card.get("rows")), None)
    if kind is None:
        raise UsageError(
            f"{path}: rows = {card.get('rows')!r} is no kind of rows: make the folder anew"
        )
    hashes = {f"{split}.jsonl": hash_file(folder / f"{split}.jsonl") for split in SPLITS}
    recorded = card.get("files")
    for name, digest in hashes.items():
        if not isinstance(recorded, dict) or recorded.get(name) != digest:
            raise UsageError(
                f"{folder / name} changed since its card was written: restore it, or make the"
                " folder anew with `ragkit tune data`"
            )
    if card.get("hash") != joint_hash(hashes):
        raise UsageError(f"{path}: the hash is not that of its files: make the folder anew")
    counts = card.get("counts")
    if not isinstance(counts, dict) or not all(type(counts.get(s)) is int for s in SPLITS):
        raise UsageError(f"{path}: counts lacks train, dev or test: make the folder anew")
    return DataSet(folder, kind, counts, card["hash"], card)


def write_data_set(
    folder: Path,
    kind: RowsKind,
    rows: Mapping[Split, Iterable[Mapping[str, Any]]],
    card: Mapping[str, Any],
) -> DataSet:
    """Write the three files, and last the card with their counts and hashes.

    Raises UsageError when the folder holds something already or cannot be written.
    """
    make_new_folder(folder)
    counts = {s: write_rows(folder / f"{s}.jsonl", rows.get(s, ())) for s in SPLITS}
    hashes = {f"{split}.jsonl": hash_file(folder / f"{split}.jsonl") for split in SPLITS}
    written = {
        "format": FORMAT,
        "rows": kind,
        **card,
        "counts": counts,
        "files": hashes,
        "hash": joint_hash(hashes),
    }
    write_whole(folder / CARD, json.dumps(written, ensure_ascii=False, indent=2) + "\n")
    return read_data_set(folder)


def make_new_folder(folder: Path) -> None:
    """Make a folder for its owner alone. Raises UsageError when it holds something or cannot be."""
    check_new_folder(folder)
    try:
        make_private(folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}: name another") from error


def check_new_folder(folder: Path) -> None:
    """Raise UsageError unless the folder is empty or absent; call it before the work."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(f"{folder} is already there: name another folder, or remove it")
    if not folder.absolute().parent.is_dir():
        raise UsageError(f"{folder} cannot be made: its parent is no folder: make that first")


def read_pairs(path: Path) -> list[PairRow]:
    """Read a file of pairs strictly. Raises NotFoundError, and UsageError naming FILE:LINE."""
    return [_pair(where, values) for where, values in read_objects(path)]


def read_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each line's place, as FILE:LINE, and its object; blank lines are skipped.

    Raises NotFoundError for a file that cannot be read, UsageError for a line that is no object.
    """
    from ragkit.upkeep.questions import read_lines, read_row

    for where, line in read_lines(path):
        if len(line) > MAX_LINE_CHARS:
            raise UsageError(f"{where}: {len(line)} characters: a row has {MAX_LINE_CHARS} at most")
        values = read_row(where, line)
        if not isinstance(values, dict):
            raise UsageError(f"{where}: not a JSON object: write {{...}}")
        yield where, values


def check_fields(values: Mapping[str, Any], fields: Sequence[str], where: str) -> None:
    """Raise UsageError for a field that a row does not have, naming the nearest that it has."""
    for name in values:
        if name not in fields:
            close = get_close_matches(name, fields, n=1)
            hint = f"is {close[0]!r} meant?" if close else f"use one of {', '.join(fields)}"
            raise UsageError(f"{where}: unknown field {name!r}: {hint}")


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as JSON lines, for their owner alone, and return their number."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    write_whole(path, "".join(lines))
    return len(lines)


def write_whole(path: Path, text: str) -> None:
    """Write a text to a temporary file and rename it. Raises UsageError when that fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # A text from JSON may hold half a surrogate pair, which UTF-8 cannot encode.
        with open(
            temporary, "w", encoding="utf-8", errors="replace", newline="\n", opener=private
        ) as file:
            file.write(text)
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}: name another") from error
    finally:
        temporary.unlink(missing_ok=True)


def hash_file(path: Path) -> str:
    """Return the sha256 of a file. Raises NotFoundError when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise NotFoundError(
            f"{path} cannot be read: {error.strerror}: make it with `ragkit tune data`"
        ) from error


def joint_hash(hashes: Mapping[str, str]) -> str:
    """Return the hash of several files, from the hash of each.

    >>> joint_hash({"a": "1"})[:8]
    '252d2c1c'
    """
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def _read_card(path: Path) -> dict[str, Any]:
    try:
        card = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise NotFoundError(
            f"{path} cannot be read: {error.strerror}: make it with `ragkit tune data`"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}: make the folder anew") from error
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise UsageError(f"{path} is no card of format {FORMAT}: make the folder anew")
    return card


def _pair(where: str, values: Mapping[str, Any]) -> PairRow:
    check_fields(values, _FIELDS, where)
    filled = {**_OPTIONAL, **values}
    for name in _FIELDS:
        if name not in filled:
            raise UsageError(f"{where}: there is no {name!r}: add it")
    for name in _TEXTS:
        if not isinstance(filled[name], str):
            raise UsageError(f"{where}: {name!r} is no text: put it in quotes")
    for name in ("query", "positive"):
        if not filled[name].strip():
            raise UsageError(f"{where}: {name!r} is blank: remove the row or fill it in")
    start, end = filled["start"], filled["end"]
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise UsageError(f"{where}: the span {start!r}-{end!r} holds nothing: correct it")
    negatives = _check_negatives(filled["negatives"], filled["positive"], where)
    scores = _check_scores(filled["scores"], len(negatives), where)
    texts = {name: filled[name] for name in _TEXTS}
    return PairRow(**texts, start=start, end=end, negatives=negatives, scores=scores)


def _check_negatives(value: object, positive: str, where: str) -> tuple[str, ...]:
    rows = value if isinstance(value, list) else [None]
    if not all(isinstance(text, str) and text.strip() for text in rows):
        raise UsageError(f"{where}: 'negatives' must be a list of texts that are not blank")
    if positive in rows:
        raise UsageError(f"{where}: the positive is among its negatives: remove it there")
    return tuple(rows)


def _check_scores(value: object, negatives: int, where: str) -> tuple[float, ...]:
    rows: list[Any] = value if isinstance(value, list) else [None]
    if not all(type(score) in (int, float) and isfinite(score) for score in rows):
        raise UsageError(f"{where}: 'scores' must be a list of finite numbers")
    if rows and len(rows) != negatives + 1:
        raise UsageError(
            f"{where}: {len(rows)} scores for {negatives + 1} passages: write one for the positive"
            " and for each negative"
        )
    return tuple(map(float, rows))
