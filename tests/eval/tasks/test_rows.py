"""Reading rows: bytes kept as they are, and mistakes with file and line."""

import gzip
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.tasks.rows import read_hub, read_rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows"


def _values(path: Path, text: str | bytes, format: str, **options: Any) -> list[Any]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [dict(row.values) for row in read_rows(path, format, **options)]


def test_csv_keeps_line_ends_and_spaces(path: Path) -> None:
    text = 'q,a\n"one\r\ntwo ",  x\n'
    assert _values(path, text, "csv") == [{"q": "one\r\ntwo ", "a": "  x"}]


def test_csv_places(path: Path) -> None:
    path.write_text('q,a\n"one\ntwo",x\n\nthree,y\n')
    assert [row.where for row in read_rows(path, "csv")] == [f"{path}:2", f"{path}:5"]


def test_a_first_row_that_repeats_the_columns_is_a_header(path: Path) -> None:
    rows = [{"q": "1", "a": "x"}]
    assert _values(path, "q,a\n1,x\n", "csv", columns=("q", "a")) == rows
    assert _values(path, "1,x\n", "csv", columns=("q", "a")) == rows
    assert _values(path, "\ufeffq,a\n1,x\n", "csv", columns=("q", "a")) == rows


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ("q,a\n1,2\n1,2,3\n", "csv", ":3: 3 cells where 2 are expected (q, a): correct the row"),
        ('q,a\n1,2\n"open,2\n', "csv", ":3: not CSV: unexpected end of data"),
        ('{"a": 1}\n\n{"a": \n', "jsonl", ":3: not JSON: Expecting value"),
        ("[1]\n", "jsonl", ":1: a list where an object is expected"),
        ('{"rows": [{"a": 1}, 2]}', "json", ": row 2: a int where an object is expected"),
        ('{"row": []}', "json", ": no list under 'rows': correct it"),
        ('{\n"rows": [\n}', "json", ":3: not JSON: "),
        (b'{"a": "b"}\n{"a": "\xff"}\n', "jsonl", ":2: not UTF-8: save it as UTF-8"),
        ('{"a": 1}\n{"a": NaN}\n', "jsonl", ":2: not JSON: NaN is not a JSON number"),
        ('{"a": 1}\n{"a": ' + "9" * 5000 + "}\n", "jsonl", ":2: not JSON: Exceeds the limit"),
        ("[" * 100_000, "jsonl", ":1: not JSON: maximum recursion depth"),
        ("q,a,q\n1,2,3\n", "csv", ":1: two columns have the same name: give each its own"),
    ],
)
def test_mistakes_have_a_place(path: Path, text: str | bytes, format: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        _values(path, text, format, key="rows" if format == "json" else "")
    assert f"{path}{message}" in str(caught.value)


def test_a_damaged_gzip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    compressed = gzip.compress(json.dumps({"a": list(range(5000))}).encode())
    for damaged in (
        b"no gzip",
        compressed[:100],
        compressed[:60] + b"\xff" * 40 + compressed[100:],
    ):
        path.write_bytes(damaged)
        with pytest.raises(NotFoundError, match=r"cannot read .*rows.jsonl.gz: "):
            list(read_rows(path, "jsonl"))


def test_json_lines_gzipped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress('{"a": "é"}\n'.encode()))
    assert [dict(row.values) for row in read_rows(path, "jsonl")] == [{"a": "é"}]
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(NotFoundError, match=r"cannot read .*rows.jsonl.gz: Compressed file ended"):
        list(read_rows(path, "jsonl"))
    path.write_bytes(b"no gzip")
    with pytest.raises(NotFoundError, match=r"cannot read .*rows.jsonl.gz: Not a gzipped file"):
        list(read_rows(path, "jsonl"))


def test_a_line_may_hold_separators_of_lines(path: Path) -> None:
    assert _values(path, '{"a": "x\u2028y"}\n', "jsonl") == [{"a": "x\u2028y"}]


def test_a_file_that_is_not_there(path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"cannot read .*rows: No such file or directory"):
        list(read_rows(path, "jsonl"))


def test_a_hub_dataset_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match="hf:openai/gsm8k needs the package 'datasets': pip ins"):
        list(read_hub("hf:openai/gsm8k"))


def test_a_hub_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    def load_dataset(name: str, config: str | None, *, split: str) -> list[dict[str, str]]:
        requests.append((name, config, split))
        if name == "no/such":
            raise ConnectionError("no network\nat all")
        return [{"a": "1"}]

    module = ModuleType("datasets")
    module.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    (row,) = read_hub("hf:openai/gsm8k:main:train")
    assert (dict(row.values), row.where) == ({"a": "1"}, "hf:openai/gsm8k:main:train:1")
    list(read_hub("hf:cais/mmlu"))
    assert requests == [("openai/gsm8k", "main", "train"), ("cais/mmlu", None, "test")]
    with pytest.raises(UsageError, match="cannot load hf:no/such: no network; use local files"):
        list(read_hub("hf:no/such"))
