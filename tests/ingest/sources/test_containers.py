"""The files in archives and mails, in each other too, and what is refused."""

import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit_ingest import parse
from ragkit_ingest.parser.spool import Part, Spool
from ragkit_ingest.sources import (
    Listing,
    RecordFields,
    SourceOptions,
    containers,
    expanded,
    find,
    items_of_file,
)
from ragkit_ingest.sources.item import Item
from tests.ingest.parser.spooled import spooled

TOO_DEEP = "in more than 2 containers, one in the other: unpack them first"
Contents = dict[bytes, list[tuple[str, bytes]]]


@pytest.fixture(autouse=True)
def _formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else is read at the time: archives, and mails that have a text besides."""
    media_types = {".md": "text/markdown", ".eml": "message/rfc822", ".json": "application/json"}
    for module in (parse, containers, items_of_file):
        monkeypatch.setattr(module, "CONTAINERS", {".zip": "zip", ".eml": "eml"})
        monkeypatch.setattr(module, "MEDIA_TYPES", media_types)


def test_members_are_named_by_their_path_in_the_container(tmp_path: Path) -> None:
    members = [("a.md", b"1"), ("sub/b.md", b"2"), ("c.bin", b"3"), ("__MACOSX/a.md", b"4")]
    listing, items = _expanded(tmp_path / "x.zip", {b"x": [*members, ("sub/.d.md", b"5")]})
    assert [(item.uri, item.name, item.read(9)) for item in items] == [
        (f"{tmp_path}/x.zip!/a.md", "a", b"1"),
        (f"{tmp_path}/x.zip!/sub/b.md", "b", b"2"),
    ]
    root = f"{tmp_path}/x.zip!"
    skipped = sorted(file.uri for file in listing.skipped.named)
    assert skipped == [f"{root}/c.bin", f"{root}/sub/.d.md"]
    assert listing.covers(f"{tmp_path}/x.zip!/gone.md")
    with pytest.raises(IngestError, match="RAGKIT_MAX_FILE_MB"):
        items[0].read(0)


def test_names_that_lead_elsewhere_or_come_twice(tmp_path: Path) -> None:
    names = ["../../etc/a.md", "/a.md", "C:\\x\\a.md", "a.md", "a.md", "a (2).md", "..", "b/./a.md"]
    _, items = _expanded(tmp_path / "x.zip", {b"x": [(name, b"1") for name in names]})
    assert [item.uri.removeprefix(f"{tmp_path}/x.zip!/") for item in items] == [
        "etc/a.md",
        "a.md",
        "C:/x/a.md",
        "a (2).md",
        "a (3).md",
        "a (2) (2).md",
        "b/a.md",
    ]


def test_an_archive_in_a_mail_is_unpacked_when_its_turn_has_come(tmp_path: Path) -> None:
    contents = {
        b"x": [("x.zip", b"zip"), ("y.eml", b"eml")],
        b"zip": [("a.md", b"1")],
        b"eml": [("b.md", b"2"), ("z.zip", b"zip")],
    }
    _, items = _expanded(tmp_path / "m.eml", contents)
    root = f"{tmp_path}/m.eml!"
    assert [(item.uri, _reason(item)) for item in items] == [
        (f"{root}/y.eml", ""),
        (f"{root}/x.zip!/a.md", ""),
        (f"{root}/y.eml!/b.md", ""),
        (f"{root}/y.eml!/z.zip!/a.md", TOO_DEEP),
    ]


def test_an_archive_in_an_archive_is_refused(tmp_path: Path) -> None:
    contents = {b"x": [("in.zip", b"zip"), ("y.eml", b"eml")], b"eml": [("z.zip", b"zip")]}
    listing, items = _expanded(tmp_path / "x.zip", contents)
    reason = "an archive in an archive: unpack the outer one first"
    assert [(item.uri, _reason(item)) for item in items] == [
        (f"{tmp_path}/x.zip!/in.zip", reason),
        (f"{tmp_path}/x.zip!/y.eml", ""),
        (f"{tmp_path}/x.zip!/y.eml!/z.zip", reason),
    ]
    assert not listing.covers(f"{tmp_path}/x.zip!/in.zip!/a.md")


def test_a_container_that_cannot_be_unpacked_answers_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"x")
    listing = find([str(tmp_path)])
    (item,) = listing
    with pytest.raises(IngestError, match="damaged"):
        expanded(item, b"x", _unpack({}))
    assert not listing.covers(f"{tmp_path}/x.zip!/gone.md")
    assert listing.covers(f"{tmp_path}/gone.md")


def test_a_container_that_cannot_be_read_answers_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.zip").symlink_to(tmp_path / "nowhere")
    listing = find([str(tmp_path)])
    (item,) = listing
    with pytest.raises(IngestError, match="a link that leads nowhere"):
        item.read(9)
    assert not listing.covers(f"{tmp_path}/x.zip!/gone.md")


def test_one_inside_that_is_damaged_fails_by_itself(tmp_path: Path) -> None:
    contents = {b"x": [("in.zip", b"torn"), ("a.md", b"1"), ("y.eml", b"torn")]}
    listing, items = _expanded(tmp_path / "m.eml", contents)
    root = f"{tmp_path}/m.eml!"
    assert [(item.uri, _reason(item)) for item in items] == [
        (f"{root}/a.md", ""),
        (f"{root}/y.eml", ""),  # a mail has a text, whose parser says what is wrong
        (f"{root}/in.zip", "damaged"),
    ]
    assert not listing.covers(f"{root}/in.zip!/gone.md")
    assert not listing.covers(f"{root}/y.eml!/gone.md")


def test_sidecars_records_and_metadata_go_on_inside(tmp_path: Path) -> None:
    (tmp_path / "x.zip.meta.json").write_text('{"project": "blue", "year": 1}')
    members = [
        ("a.md", b"1"),
        ("a.md.meta.json", b'{"title": "A", "year": 2020}'),
        ("r.jsonl", b'{"body": "x"}'),
    ]
    options = SourceOptions(records=RecordFields(("body",)))
    _, items = _expanded(tmp_path / "x.zip", {b"x": members}, options)
    assert [(item.uri.rpartition("/")[2], item.title, item.metadata) for item in items] == [
        ("a.md", "A", {"project": "blue", "year": 2020}),
        ("r.jsonl#1", "", {"project": "blue", "year": 1}),
    ]


def test_only_one_container_inside_is_unpacked_at_a_time(tmp_path: Path) -> None:
    requests: list[bytes] = []

    def unpack(data: bytes, suffix: str) -> list[tuple[str, Part]]:
        requests.append(data)
        names = [("1.zip", b"one"), ("2.zip", b"two")] if data == b"x" else [("a.md", b"1")]
        return spooled(names)

    (tmp_path / "m.eml").write_bytes(b"x")
    (item,) = find([str(tmp_path)])
    items = expanded(item, b"x", unpack)
    next(items)
    assert requests == [b"x", b"one"]


def test_what_was_unpacked_is_not_held_in_memory() -> None:
    size = 9 << 20  # over what a spool holds there

    def unpack(data: bytes, suffix: str) -> list[tuple[str, Part]]:
        spool = Spool()
        names = ["1.zip", "a.md", "b.md"] if data == b"x" else ["c.md", "d.md"]
        return [(name, spool.take(io.BytesIO(bytes(size)), size)) for name in names]

    tracemalloc.start()
    try:
        items = expanded(Item("m.eml", ".eml", lambda max_bytes: b"x"), b"x", unpack)
        held = [(item.uri, tracemalloc.get_traced_memory()[0] // size) for item in items]
    finally:
        tracemalloc.stop()
    assert held == [
        ("m.eml!/a.md", 0),
        ("m.eml!/b.md", 0),
        ("m.eml!/1.zip!/c.md", 0),
        ("m.eml!/1.zip!/d.md", 0),
    ]


def test_an_item_of_another_source_is_taken_with_the_defaults() -> None:
    item = Item("upload:x.zip", ".zip", lambda max_bytes: b"x")
    items = list(expanded(item, b"x", _unpack({b"x": [("a.md", b"1")]})))
    assert [member.uri for member in items] == ["upload:x.zip!/a.md"]


def _expanded(
    file: Path, contents: Contents, options: SourceOptions | None = None
) -> tuple[Listing, list[Item]]:
    file.write_bytes(b"x")
    listing = find([str(file)], options)
    (item,) = listing
    return listing, list(expanded(item, item.read(9), _unpack(contents)))


def _unpack(contents: Contents) -> Callable[[bytes, str], list[tuple[str, Part]]]:
    def unpack(data: bytes, suffix: str) -> list[tuple[str, Part]]:
        if data not in contents:
            raise IngestError("parse", "damaged")
        return spooled(contents[data])

    return unpack


def _reason(item: Item) -> str:
    try:
        item.read(100)
    except IngestError as error:
        return error.reason
    return ""
