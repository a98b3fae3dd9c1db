"""Data folders: what is written is read back, and what changed since is refused."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_tune.data.data_set import (
    DataSet,
    PairRow,
    check_new_folder,
    read_data_set,
    read_pairs,
    write_data_set,
    write_rows,
)

ROW = PairRow(
    "a1", "How warm?", "It is 22 degrees.", "/d/room.md", 4, 21, ("It is old.",), "number"
)


def _write(folder: Path) -> DataSet:
    return write_data_set(
        folder,
        "pairs",
        {"train": [ROW.as_json()], "test": [{"question": "How warm?"}]},
        {"collection": "default", "seed": 3},
    )


def test_a_written_folder_is_read_back(tmp_path: Path) -> None:
    written = _write(tmp_path / "data")
    data = read_data_set(tmp_path / "data")
    assert data == written
    assert (data.rows_kind, data.counts) == ("pairs", {"train": 1, "dev": 0, "test": 1})
    assert (data.card["format"], data.card["seed"], len(data.hash)) == (1, 3, 64)
    assert read_pairs(data.path("train")) == [ROW]
    assert read_pairs(data.path("dev")) == []


def test_the_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = _write(tmp_path / "data").folder
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == dict.fromkeys(["train.jsonl", "dev.jsonl", "test.jsonl", "card.json"], 0o600)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["train.jsonl", "dev.jsonl", "test.jsonl"])
def test_changed_data_is_refused_by_name(tmp_path: Path, name: str) -> None:
    folder = _write(tmp_path / "data").folder
    with open(folder / name, "a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(UsageError, match=f"{name} changed since its card was written"):
        read_data_set(folder)


def test_absent_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"card\.json cannot be read: No such file"):
        read_data_set(tmp_path)
    folder = _write(tmp_path / "data").folder
    (folder / "dev.jsonl").unlink()
    with pytest.raises(NotFoundError, match=r"dev\.jsonl cannot be read"):
        read_data_set(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "no card of format 1"),
        ({"rows": "words"}, "rows = 'words' is no kind of rows"),
        ({"hash": "0" * 64}, "the hash is not that of its files"),
        ({"counts": {"train": 1}}, "counts lacks train, dev or test"),
    ],
)
def test_a_damaged_card_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = _write(tmp_path / "data").folder / "card.json"
    card = json.loads(path.read_bytes())
    with open(path, "w", encoding="utf-8") as file:
        json.dump(card | change, file)
    with pytest.raises(UsageError, match=message):
        read_data_set(path.parent)


def test_a_folder_with_something_in_it_is_never_overwritten(tmp_path: Path) -> None:
    _write(tmp_path / "data")
    with pytest.raises(UsageError, match="is already there: name another folder"):
        _write(tmp_path / "data")
    with pytest.raises(UsageError, match="its parent is no folder"):
        check_new_folder(tmp_path / "absent" / "data")
    check_new_folder(tmp_path / "new")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"positiv": "x"}, "unknown field 'positiv': is 'positive' meant"),
        ({"query": " "}, "'query' is blank"),
        ({"query": 7}, "'query' is no text"),
        ({"start": 21}, "the span 21-21 holds nothing"),
        ({"start": True}, "the span True-21 holds nothing"),
        ({"negatives": "x"}, "'negatives' must be a list of texts"),
        ({"negatives": [""]}, "'negatives' must be a list of texts"),
        ({"negatives": ["It is 22 degrees."]}, "the positive is among its negatives"),
        ({"scores": [1.0]}, "1 scores for 2 passages"),
        ({"scores": [1.0, float("nan")]}, "'scores' must be a list of finite numbers"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "train.jsonl"
    write_rows(path, [ROW.as_json(), {**ROW.as_json(), **change}])
    with pytest.raises(UsageError, match=rf"train\.jsonl:2: {message}"):
        read_pairs(path)


def test_a_row_without_a_field_or_that_is_no_object_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    write_rows(path, [{"id": "a", "query": "b", "positive": "c", "start": 0, "end": 1}])
    with pytest.raises(UsageError, match=r"train\.jsonl:1: there is no 'document': add it"):
        read_pairs(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write("[]\n")
    with pytest.raises(UsageError, match=r"train\.jsonl:1: not a JSON object"):
        read_pairs(path)


def test_scores_of_a_teacher_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    write_rows(path, [ROW.as_json() | {"scores": [2, 0.5]}])
    (row,) = read_pairs(path)
    assert row.scores == (2.0, 0.5)
