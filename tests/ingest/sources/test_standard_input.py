"""Standard input as a document."""

import io

import pytest

from ragkit.errors import IngestError
from ragkit.settings.settings import Settings
from ragkit_ingest.sources import SourceOptions, find


def test_it_has_the_name_that_the_user_gives_it() -> None:
    options = SourceOptions(name="Notes.MD", title="Notes", metadata={"year": 1})
    listing = find(["-"], options, stdin=io.BytesIO("茶".encode()))
    for _ in range(2):  # a run that begins again finds it again
        (item,) = listing
        assert (item.uri, item.suffix, item.name) == ("stdin:Notes.MD", ".md", "Notes")
        assert (item.title, item.metadata) == ("Notes", {"year": 1})
        assert item.read(100).decode() == "茶"
    assert not listing.covers("stdin:Notes.MD")


def test_it_is_not_read_before_its_turn_nor_beyond_the_limit() -> None:
    stream = io.BytesIO(b"x" * (3 << 20))
    (item,) = find(
        ["-"], SourceOptions(name="a.txt"), settings=Settings(max_file_mb=1), stdin=stream
    )
    assert stream.tell() == 0
    with pytest.raises(IngestError, match=r"over RAGKIT_MAX_FILE_MB, 1 MB"):
        item.read(1 << 20)
    assert stream.tell() == (1 << 20) + 1


def test_an_unknown_format_is_a_failure() -> None:
    (item,) = find(["-"], SourceOptions(name="a.exe"), stdin=io.BytesIO(b"x"))
    with pytest.raises(IngestError, match=r"a format that ragkit does not read \(\.exe\)"):
        item.read(100)
