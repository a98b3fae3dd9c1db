"""Titles and metadata beside a file."""

from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.sources import SourceOptions, find
from ragkit_ingest.sources.item import Item


def test_a_sidecar_gives_title_and_typed_metadata_and_wins(tmp_path: Path) -> None:
    table = '{"title": "Leave", "year": 2020, "draft": false, "tags": ["a", "b"], "none": null}'
    options = SourceOptions(metadata={"year": "1999", "project": "blue"})
    item = _with(tmp_path, "leave.pdf.meta.json", table, options)
    assert item.title == "Leave"
    assert item.metadata == {"year": 2020, "draft": False, "tags": "a, b", "project": "blue"}


def test_toml_has_dates(tmp_path: Path) -> None:
    item = _with(tmp_path, "leave.pdf.meta.toml", "signed = 2020-02-29\r\npages = 3.5\r\n")
    assert item.metadata == {"signed": "2020-02-29", "pages": 3.5}


def test_a_sidecar_is_no_document_even_where_its_file_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone.pdf.meta.json").write_text("{}")
    (tmp_path / "package.meta.json").write_text("{}")  # a file of that name, and no sidecar
    listing = find([str(tmp_path)])
    assert [item.name for item in listing] == ["package.meta"]
    assert listing.skipped.named == []


@pytest.mark.parametrize(
    ("ending", "text", "reason"),
    [
        ("json", "{", "leave.pdf.meta.json: Expecting property name"),
        ("json", "[1]", 'leave.pdf.meta.json: not an object: write {"title"'),
        ("json", '{"title": 3}', "leave.pdf.meta.json: 'title' has to be a text"),
        ("json", '{"a": {"b": 1}}', "leave.pdf.meta.json: 'a' is a table of its own"),
        ("json", '{"a": [[1]]}', "leave.pdf.meta.json: 'a' is a list in a list"),
        ("json", '{"a": NaN}', "leave.pdf.meta.json: 'a' is nan, which is no number"),
        ("json", '{"a": ' + "9" * 5000 + "}", "leave.pdf.meta.json: Exceeds the limit"),
        ("json", '{"": 1}', "leave.pdf.meta.json: a key has 0 characters"),
        ("json", "[" * 100_000, "leave.pdf.meta.json: it is nested too deeply"),
        ("json", "x" * 300_000, "leave.pdf.meta.json is over 256 KB"),
        ("toml", "a = ", "leave.pdf.meta.toml: Invalid value"),
        ("toml", "a = " + "[" * 1500, "leave.pdf.meta.toml: "),
    ],
)
def test_a_malformed_sidecar_is_a_failure_of_its_file(
    tmp_path: Path, ending: str, text: str, reason: str
) -> None:
    item = _with(tmp_path, f"leave.pdf.meta.{ending}", text)
    with pytest.raises(IngestError) as error:
        item.read(1 << 20)
    assert error.value.stage == "read"
    assert error.value.reason.startswith(f"its sidecar {reason}")


def test_two_sidecars_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "leave.pdf.meta.toml").touch()
    item = _with(tmp_path, "leave.pdf.meta.json", "{}")
    with pytest.raises(IngestError, match=r"two sidecars, leave\.pdf\.meta\.json and leave"):
        item.read(1)


def _with(folder: Path, name: str, text: str, options: SourceOptions | None = None) -> Item:
    """Find one file in a folder, and the same when it is named."""
    (folder / "leave.pdf").touch()
    (folder / name).write_text(text)
    (item,) = find([str(folder)], options)
    (named,) = find([str(folder / "leave.pdf")], options)
    assert (item.uri, item.title, item.metadata) == (named.uri, named.title, named.metadata)
    assert item.uri == f"{folder}/leave.pdf"
    return item
