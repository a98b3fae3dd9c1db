"""Remote stores through fsspec, of which one is in memory."""

import sys
import uuid
from collections.abc import Iterator
from typing import Any

import fsspec
import pytest

from ragkit.errors import IngestError, NotFoundError, UsageError
from ragkit_ingest.sources import RecordFields, SourceOptions, find


@pytest.fixture
def place() -> Iterator[str]:
    """A folder in memory, empty."""
    memory = fsspec.filesystem("memory")
    name = f"/{uuid.uuid4().hex}"
    memory.mkdir(name)
    yield f"memory:/{name}"
    memory.rm(name, recursive=True)


def test_a_remote_folder_is_walked_like_one_here(place: str) -> None:
    _put(place, "b.md", "a.txt", "sub/c.md", "sub/old/d.md", "x.bin", ".hidden/x.md")
    _put(place, ".ragkitignore", text="old/\n")
    _put(place, "b.md.meta.json", text='{"title": "B", "year": 2020}')
    listing = find([place + "/"])
    items = {item.uri.removeprefix(place): (item.title, item.metadata) for item in listing}
    assert list(items) == ["/a.txt", "/b.md", "/sub/c.md"]
    assert items["/b.md"] == ("B", {"year": 2020})
    skipped = {file.uri.removeprefix(place): file.reason for file in listing.skipped.named}
    assert skipped == {
        "/.hidden": "hidden (--hidden takes them)",
        "/x.bin": "a format that ragkit does not read (.bin)",
        "/sub/old": "left out by .ragkitignore",
    }
    assert listing.covers(f"{place}/gone.md")
    assert not listing.covers("memory://elsewhere/gone.md")


def test_a_remote_file_is_read_within_the_limit(place: str) -> None:
    _put(place, "a.md", text="0123456789")
    (item,) = find([f"{place}/a.md"], SourceOptions(title="A"))
    assert (item.uri, item.title, item.read(10)) == (f"{place}/a.md", "A", b"0123456789")
    with pytest.raises(IngestError, match="RAGKIT_MAX_FILE_MB"):
        item.read(9)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_remote_records_are_read_bit_by_bit(place: str, suffix: str) -> None:
    if suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        with fsspec.open(f"{place}/r.parquet", "wb") as file:
            parquet.write_table(pa.table({"body": ["x", "y"]}), file)
    else:
        _put(place, "r.jsonl", text='{"body": "x"}\n{"body": "y"}')
    places = list(find([place], SourceOptions(records=RecordFields(("body",)))))
    assert [(item.uri, item.read(9)) for item in places] == [
        (f"{place}/r{suffix}#1", b"x"),
        (f"{place}/r{suffix}#2", b"y"),
    ]


def test_what_is_not_there_is_named_before_anything_is_done(place: str) -> None:
    with pytest.raises(NotFoundError, match=r"nowhere\.md'.*check the address"):
        find([f"{place}/nowhere.md"])


def test_a_file_that_vanishes_meanwhile_is_a_failure(place: str) -> None:
    _put(place, "a.md")
    (item,) = find([place])
    fsspec.filesystem("memory").rm(place.removeprefix("memory:/") + "/a.md")
    with pytest.raises(IngestError, match="not there any more"):
        item.read(1)


def test_a_folder_that_cannot_be_listed_answers_for_nothing(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(place, "a.md", "sub/b.md")
    memory = fsspec.filesystem("memory")
    ls = memory.ls

    def refuse(path: str, **options: Any) -> Any:
        if path.endswith("/sub"):
            raise RuntimeError("the library\nhas its own errors")
        return ls(path, **options)

    monkeypatch.setattr(memory, "ls", refuse)
    listing = find([place])
    good, bad = listing
    assert (good.uri, bad.uri) == (f"{place}/a.md", f"{place}/sub")
    with pytest.raises(IngestError, match="RuntimeError: the library has its own errors"):
        bad.read(1)
    assert listing.covers(f"{place}/gone.md")
    assert not listing.covers(f"{place}/sub/b.md")


def test_a_store_that_shows_a_folder_in_itself_is_walked_once(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(place, "a.md")
    memory = fsspec.filesystem("memory")
    path = place.removeprefix("memory:/")
    entries = [
        {"name": f"{path}//", "type": "directory", "size": 0},
        {"name": path, "type": "directory", "size": 0},
        {"name": f"{path}/../../etc/x.md", "type": "file", "size": 0},
        {"name": f"{path}/a.md", "type": "file", "size": 0},
    ]
    monkeypatch.setattr(memory, "ls", lambda path, **options: entries)
    assert [item.uri for item in find([place])] == [f"{place}/a.md"]


@pytest.mark.parametrize(
    "address",
    [
        "s3://AKIA:secret@bucket/a",
        "s3://AKIA:sec/ret@bucket/a",
        "s3://AKIA:123/ret@bucket/a",
        "sftp://me:secret@host/a",
        "sftp://me:secret@host:22/a",
        "ftp://me:secret@host/a",
        "az://container/a?sv=1&sig=secret",
        "abfs://c@account.dfs.core.windows.net/a?SIG=secret",
        "gs://bucket/a?X-Goog-Signature=secret",
        "s3://bucket/a?AWSAccessKeyId=secret",
    ],
)
def test_credentials_are_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UsageError) as error:
        find([address])
    assert "seems to hold credentials" in str(error.value)
    assert "sec" not in str(error.value)
    assert "123" not in str(error.value)


@pytest.mark.parametrize(
    "address",
    [
        "simplecache::https://example.com/a.md",
        "zip://a.md::http://127.0.0.1/x.zip",
        "s3://bucket/x.zip::http://127.0.0.1/",
        "reference://x",
        "local:///etc/passwd",
        "data://text/plain,x",
        "dir::file:///etc",
        "filecache://x",
    ],
)
def test_addresses_that_lead_to_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(UsageError, match="no place to take files from"):
        find([address])


@pytest.mark.parametrize(
    ("address", "module", "package"),
    [
        ("s3://bucket/a", "s3fs", "s3fs"),
        ("gs://bucket/a", "gcsfs", "gcsfs"),
        ("az://bucket/a", "adlfs", "adlfs"),
        ("sftp://me@host:22/a@b", "paramiko", "paramiko"),
    ],
)
def test_a_missing_driver_is_named_with_the_remedy(
    address: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    scheme = address.partition(":")[0]
    with pytest.raises(UsageError) as error:
        find([address])
    assert (
        str(error.value) == f"{scheme}:// needs a driver that is not here: pip install {package}."
    )


def _put(place: str, *names: str, text: str = "x") -> None:
    for name in names:
        with fsspec.open(f"{place}/{name}", "w") as file:
            file.write(text)
