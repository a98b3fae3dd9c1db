"""Records as documents of their own: JSON lines, separated values, Parquet."""

import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.sources import RecordFields, SourceOptions, find
from ragkit_ingest.sources.item import Item

FIELDS = RecordFields(("body",), title="head", id="key", metadata=("year", "author.name"))
RECORDS: list[dict[str, Any]] = [
    {"key": "a", "head": "One", "body": "First.", "year": 2020, "author": {"name": "Ann"}},
    {"key": "b/2", "head": None, "body": ["Second.", "茶"], "year": None, "tags": [1]},
]


def test_each_record_is_a_document(tmp_path: Path) -> None:
    lines = [json.dumps(record) for record in RECORDS]
    first, second = _items(_file(tmp_path, "r.jsonl", "\n\n".join(lines)), FIELDS)
    assert (first.uri, first.suffix, first.title) == (f"{tmp_path}/r.jsonl#a", ".txt", "One")
    assert first.read(100) == b"First."
    assert first.metadata == {"year": 2020, "author.name": "Ann"}
    assert (second.uri, second.title, second.metadata) == (f"{tmp_path}/r.jsonl#b/2", "", {})
    assert second.name == "r.jsonl#b/2"  # its title, for want of a better one
    assert second.read(100).decode() == "Second.\n\n茶"
    with pytest.raises(IngestError, match="RAGKIT_MAX_FILE_MB"):
        second.read(5)


def test_without_a_field_for_ids_lines_are_counted(tmp_path: Path) -> None:
    file = _file(tmp_path, "r.jsonl", '{"body": "x"}\n\n{"body": "y"}\r\n')
    assert [item.uri for item in _items(file, RecordFields(("body",)))] == [
        f"{tmp_path}/r.jsonl#1",
        f"{tmp_path}/r.jsonl#3",
    ]


def test_without_a_mapping_a_file_stays_one_document(tmp_path: Path) -> None:
    file = _file(tmp_path, "r.jsonl", "{}")
    assert [item.uri for item in find([str(file)])] == [str(file)]


def test_a_bad_record_fails_alone_and_is_not_forgotten(tmp_path: Path) -> None:
    lines = [
        '{"key": 1, "body": "good"}',
        '{"key": 2',
        "[3]",
        '{"key": 4, "text": "elsewhere"}',
        '{"key": 1, "body": "again"}',
        '{"body": "no id"}',
        '{"key": 7, "body": {"a": 1}}',
        '{"key": 8, "body": "good", "year": [[]]}',
        "[" * 100_000,
        '{"key": ' + "9" * 5000 + "}",
        '{"key": 11, "body": "good"}',
    ]
    listing = find([str(_file(tmp_path, "r.jsonl", "\n".join(lines)))], _options(FIELDS))
    outcomes = {}
    for item in listing:
        name = item.uri.partition("#")[2]
        try:
            outcomes[name] = item.read(100).decode()
        except IngestError as error:
            outcomes[name] = error.reason
    assert outcomes == {
        "1": "good",
        "line 2": "line 2: not JSON: Expecting ',' delimiter (column 10)",
        "line 3": "line 3: not a JSON object, but a list",
        "4": "line 4: it has no text in 'body': see --text",
        "line 5": "line 5: the id '1' was there before: ids have to differ",
        "line 6": "line 6: it has no id in 'key': see --id-field",
        "7": "line 7: 'body' is dict, not a text",
        "8": "line 8: 'year' is a list in a list: give it a text, number or list",
        "line 9": "line 9: not JSON that can be read: too deep, or a number too long",
        "line 10": "line 10: not JSON that can be read: too deep, or a number too long",
        "11": "good",
    }
    # One of the broken lines may have been a document that is stored.
    assert not listing.covers(f"{tmp_path}/r.jsonl#99")


def test_a_file_answers_for_the_records_that_it_lost(tmp_path: Path) -> None:
    listing = find([str(_file(tmp_path, "r.jsonl", '{"key": 1, "body": "x"}'))], _options(FIELDS))
    assert not listing.covers(f"{tmp_path}/r.jsonl#99")
    list(listing)
    assert listing.covers(f"{tmp_path}/r.jsonl#99")
    assert not listing.covers(f"{tmp_path}/r2.jsonl#1")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_what_the_columns_come_apart_by(tmp_path: Path, delimiter: str) -> None:
    text = 'key,body,year\n1,"a, b;\nc|",2020\n\n2,d\n'.replace(",", delimiter)
    file = _file(tmp_path, "r.csv", text)
    fields = RecordFields(("body",), id="key", metadata=("year",))
    first, second = _items(file, fields)
    assert first.read(100).decode() == "a, b;\nc|".replace(",", delimiter)
    assert (first.metadata, second.metadata) == ({"year": "2020"}, {})
    assert [item.uri for item in _items(file, RecordFields(("body",)))] == [
        f"{file}#2",
        f"{file}#5",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_tables_in_chinese_encodings(tmp_path: Path, encoding: str) -> None:
    text = "编号,正文\n甲,员工每年有十五天年假,需要提前两周申请。\n"
    text = text.replace("天年假,", "天年假，")
    (tmp_path / "r.csv").write_bytes(text.encode(encoding))
    (item,) = _items(tmp_path / "r.csv", RecordFields(("正文",), id="编号"))
    assert item.uri == f"{tmp_path}/r.csv#甲"
    assert item.read(100).decode() == "员工每年有十五天年假，需要提前两周申请。"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("r.csv", b"a,b\n1,2\n", "there is no column 'body'; there are 'a', 'b'"),
        ("r.csv", b"", "there is no column 'body'; there are none"),
        ("r.csv", b"\x7fELF\0\0\0\xff\xfe" * 50, "binary, not text"),
        (
            "r.csv",
            b'body\n"' + (b"x" * 999 + b"\n") * 9000,
            "cannot be read on from line 2: field larger",
        ),
        ("r.csv", b"body\n" + b"x" * 9_000_000, "longer than 8 million characters"),
        ("r.parquet", b"PAR1 nonsense", "not a Parquet file that can be read: Parquet magic"),
        ("r.parquet", b"", "not a Parquet file that can be read: Parquet file size is 0"),
    ],
)
def test_a_file_that_cannot_be_read_on_fails_and_answers_for_nothing(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(data)
    listing = find([str(tmp_path / name)], _options(RecordFields(("body",))))
    (item,) = listing
    with pytest.raises(IngestError) as error:
        item.read(100)
    assert error.value.reason.startswith(reason)
    assert not listing.covers(f"{tmp_path}/{name}#1")


def test_a_line_without_an_end_costs_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "r.jsonl").open("wb") as file:
        file.write(b'{"key": "long", "body": "')
        for _ in range(40):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n{"key": "next", "body": "short"}')
    tracemalloc.start()
    long, short = _items(tmp_path / "r.jsonl", RecordFields(("body",), id="key"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert short.uri == f"{tmp_path}/r.jsonl#next"
    with pytest.raises(IngestError, match="line 1: longer than 8 million characters"):
        long.read(100)
    assert peak < 30_000_000


def test_parquet_keeps_types_and_reads_in_batches(tmp_path: Path) -> None:
    import datetime

    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows: list[dict[str, Any]] = [
        {
            "key": number,
            "body": f"text {number}",
            "day": datetime.date(2020, 2, 29),
            "share": 0.5,
            "author": {"name": "Ann", "age": 9},
            "unused": b"x",
        }
        for number in range(150)
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "r.parquet", row_group_size=100)
    fields = RecordFields(("body",), id="key", metadata=("day", "share", "author.name"))
    items = list(_items(tmp_path / "r.parquet", fields))
    assert len(items) == 150
    assert items[149].uri == f"{tmp_path}/r.parquet#149"
    assert items[149].read(100) == b"text 149"
    assert items[149].metadata == {"day": "2020-02-29", "share": 0.5, "author.name": "Ann"}
    (bad,) = _items(tmp_path / "r.parquet", RecordFields(("text",)))
    with pytest.raises(IngestError, match="no column 'text'; there are 'key', 'body'"):
        bad.read(1)


def test_parquet_needs_to_know_its_text(tmp_path: Path) -> None:
    (item,) = find([str(_file(tmp_path, "r.parquet", ""))])
    with pytest.raises(IngestError, match="say which field it is with --text"):
        item.read(1)
    listing = find([str(tmp_path)])  # in a folder it is one more file of another format
    assert (list(listing), len(listing.skipped.named)) == ([], 1)


def test_without_pyarrow_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (item,) = _items(_file(tmp_path, "r.parquet", "x"), RecordFields(("body",)))
    with pytest.raises(IngestError, match=r"pip install 'ragkit\[parquet\]'"):
        item.read(1)


def test_memory_does_not_grow_with_the_number_of_records(tmp_path: Path) -> None:
    with (tmp_path / "r.jsonl").open("w") as file:
        file.writelines(json.dumps({"body": "x" * 500}) + "\n" for _ in range(5000))
    tracemalloc.start()
    count = sum(len(item.read(1000)) for item in _items(tmp_path / "r.jsonl", FIELDS_OF_BODY))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 2_500_000
    assert peak < 1_000_000


def test_records_come_on_standard_input_too() -> None:
    options = SourceOptions(name="r.jsonl", records=RecordFields(("body",)))
    listing = find(["-"], options, stdin=io.BytesIO(b'{"body": "x"}\n{"body": "y"}'))
    for _ in range(2):  # it is kept for a run that begins again
        assert [(item.uri, item.read(9)) for item in listing] == [
            ("stdin:r.jsonl#1", b"x"),
            ("stdin:r.jsonl#2", b"y"),
        ]
    assert not listing.covers("stdin:r.jsonl#3")


FIELDS_OF_BODY = RecordFields(("body",))


def _items(file: Path, fields: RecordFields) -> Iterator[Item]:
    return iter(find([str(file)], _options(fields)))


def _options(fields: RecordFields) -> SourceOptions:
    return SourceOptions(records=fields)


def _file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name
