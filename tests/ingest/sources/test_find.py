"""What is found in files and folders, in which order, what is left out, and what it answers for."""

import os
import tracemalloc
from pathlib import Path

import pytest

from ragkit.errors import IngestError, NotFoundError, UsageError
from ragkit_ingest.sources import Listing, SourceOptions, find, pairs, uri_of


def test_folders_are_walked_in_order_and_skipped_files_are_named(tmp_path: Path) -> None:
    _files(tmp_path, "b.md", "a.TXT", "sub/c.pdf", "image.bin", ".hidden/x.md", "sub/.y.md")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.txt")
    listing = find([str(tmp_path)])
    assert [(item.uri, item.suffix, item.name) for item in listing] == [
        (f"{tmp_path}/a.TXT", ".txt", "a"),
        (f"{tmp_path}/b.md", ".md", "b"),
        (f"{tmp_path}/sub/c.pdf", ".pdf", "c"),
    ]
    skipped = {
        "loop": "a link to a folder",
        "pipe.txt": "a pipe, socket or device",
        "image.bin": "a format that ragkit does not read (.bin)",
        ".hidden": "hidden (--hidden takes them)",
        "sub/.y.md": "hidden (--hidden takes them)",
    }
    assert _skipped(listing, tmp_path) == skipped
    # A database that was away for a while makes the run begin again.
    assert len(list(listing)) == 3
    assert _skipped(listing, tmp_path) == skipped


def test_hidden_files_are_taken_when_named_or_asked_for(tmp_path: Path) -> None:
    _files(tmp_path, ".notes.md", ".git/x.md")
    assert _found(tmp_path / ".notes.md", in_=tmp_path) == [".notes.md"]
    assert _found(tmp_path, in_=tmp_path) == []
    options = SourceOptions(hidden=True)
    assert _found(tmp_path, in_=tmp_path, options=options) == [".notes.md", ".git/x.md"]


def test_relative_paths_and_file_urls_are_the_same_thing_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _files(tmp_path, "a b.md")
    monkeypatch.chdir(tmp_path)
    places = ["a b.md", ".", f"../{tmp_path.name}", f"file://{tmp_path}/a%20b.md"]
    assert [item.uri for item in find(places)] == [f"{tmp_path}/a b.md"]


def test_a_file_whose_name_looks_like_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _files(tmp_path, "Foo::Bar.md")
    monkeypatch.chdir(tmp_path)
    assert [item.name for item in find(["Foo::Bar.md"])] == ["Foo::Bar"]


def test_a_missing_path_is_named_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"nowhere\.md.*check the path"):
        find([str(tmp_path), str(tmp_path / "nowhere.md")])


@pytest.mark.parametrize(
    ("places", "options", "message"),
    [
        (["gopher://host/a.md"], {}, r"gopher:// is not known: give a path"),
        (["file://server/a.md"], {}, r"on another machine: write file:///"),
        (["-", "-"], {"name": "a.md"}, r"named twice"),
        (["-"], {}, r"add --name notes\.md"),
        (["-"], {"name": "notes"}, r"add --name notes\.md"),
        (["."], {"name": "a.md"}, r"add -\.$"),
        (["."], {"title": "A"}, r"single document: '\.' is a folder"),
        ([".", "-"], {"title": "A", "name": "a.md"}, r"single document: name one file"),
        (["https://example.com/"], {}, r"set RAGKIT_WEB=on\.$"),
    ],
)
def test_places_that_make_no_sense_are_refused_in_one_line(
    places: list[str], options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        find(places, SourceOptions(**options))  # type: ignore[arg-type]


def test_a_dangling_link_or_an_unreadable_file_is_a_failure_not_skipped(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    (tmp_path / "null.txt").symlink_to("/dev/zero")
    _files(tmp_path, "big.md")
    (tmp_path / "big.md").write_bytes(b"x" * 11)
    reasons = {}
    for item in find([str(tmp_path)]):
        with pytest.raises(IngestError) as error:
            item.read(10)
        reasons[item.name] = error.value.reason
    assert reasons == {
        "big": "0.0 MB are over RAGKIT_MAX_FILE_MB, 0 MB",
        "gone": "it is a link that leads nowhere",
        "loop": "Too many levels of symbolic links",
        "null": "it is not a regular file",
    }


def test_a_name_that_is_not_utf8_has_a_storable_uri(tmp_path: Path) -> None:
    assert uri_of(Path(os.fsdecode(b"/caf\xe9/\xe8\x8c\xb6.md"))) == "/caf\\xe9/茶.md"
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("x")
    (item,) = find([str(tmp_path)])
    assert (item.uri, item.name, item.read(9)) == (f"{tmp_path}/caf\\xe9.md", "caf\\xe9", b"x")


def test_include_and_exclude_go_by_path_or_name(tmp_path: Path) -> None:
    _files(tmp_path, "a.md", "b.txt", "docs/c.md", "docs/old/d.md", "drafts/e.md")

    def found(*include: str, exclude: tuple[str, ...] = ()) -> list[str]:
        options = SourceOptions(include=include, exclude=exclude)
        return _found(tmp_path, in_=tmp_path, options=options)

    assert found("*.txt") == ["b.txt"]
    assert found("docs/") == ["docs/c.md", "docs/old/d.md"]
    assert found("docs/*.md", "b.txt") == ["b.txt", "docs/c.md"]
    assert found("docs", exclude=("old/",)) == ["docs/c.md"]
    assert found(exclude=("**/*.md",)) == ["b.txt"]
    assert _found(tmp_path / "a.md", in_=tmp_path, options=SourceOptions(exclude=("*.md",))) == []


def test_ignore_files_go_for_their_folder_and_the_nearest_wins(tmp_path: Path) -> None:
    _files(tmp_path, "a.md", "b.log.md", "sub/c.md", "sub/b.log.md", "sub/deep/d.md", "out/e.md")
    (tmp_path / ".ragkitignore").write_text("# made by programs\n*.log.md\n/out/\n")
    (tmp_path / "sub" / ".ragkitignore").write_bytes("\ufeff!b.log.md\r\n/c.md\r\n".encode())
    listing = find([str(tmp_path)])
    names = [item.uri.removeprefix(f"{tmp_path}/") for item in listing]
    assert names == ["a.md", "sub/b.log.md", "sub/deep/d.md"]
    skipped = dict.fromkeys(("b.log.md", "sub/c.md", "out"), "left out by .ragkitignore")
    assert _skipped(listing, tmp_path) == skipped
    # It is about what a walk finds: who names a file wants it.
    assert _found(tmp_path / "b.log.md", in_=tmp_path) == ["b.log.md"]


def test_an_ignore_file_that_cannot_be_read_lets_nothing_through(tmp_path: Path) -> None:
    _files(tmp_path, "a.md", "sub/secret.md")
    (tmp_path / "sub" / ".ragkitignore").write_bytes(b"x" * 70_000)
    listing = find([str(tmp_path)])
    good, bad = listing
    assert (good.uri, bad.uri) == (f"{tmp_path}/a.md", f"{tmp_path}/sub")
    with pytest.raises(IngestError, match=r"read: left out, because its \.ragkitignore"):
        bad.read(100)
    assert not listing.covers(f"{tmp_path}/sub/secret.md")


def test_a_folder_answers_for_all_below_it_that_the_options_let_through(tmp_path: Path) -> None:
    _files(tmp_path, "a.md")
    listing = find([str(tmp_path)], SourceOptions(exclude=("*.log.md",)))
    gone = f"{tmp_path}/gone.md"
    assert not listing.covers(gone)  # it has not been listed yet
    list(listing)
    assert listing.covers(gone)
    assert listing.covers(f"{tmp_path}/sub/x.zip!/in/gone.md")
    assert listing.covers(f"{tmp_path}/sub/x.jsonl#7")
    assert not listing.covers(f"{tmp_path}-2/gone.md")
    assert not listing.covers(f"{tmp_path}/x.log.md")  # left out by the command, not gone
    assert not listing.covers(f"{tmp_path}/.hidden/x.md")
    assert not listing.covers("upload:gone.md")


def test_with_include_only_that_is_answered_for(tmp_path: Path) -> None:
    _files(tmp_path, "there.md")
    listing = find([str(tmp_path)], SourceOptions(include=("*.zip", "docs/")))
    list(listing)
    answers = [listing.covers(f"{tmp_path}/{name}") for name in ("a.md", "a.zip!/b.md", "docs/c")]
    assert answers == [False, True, True]


def test_what_was_not_listed_to_its_end_answers_for_nothing(tmp_path: Path) -> None:
    _files(tmp_path, "a.md", "b.md")
    listing = find([str(tmp_path)])
    next(iter(listing))
    assert not listing.covers(f"{tmp_path}/gone.md")


def test_a_folder_that_cannot_be_listed_fails_and_answers_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _files(tmp_path, "sub/a.md", "z/b.md")
    scandir = os.scandir

    def refuse(path: str) -> object:  # permissions say nothing to root, who may run this
        if str(path).endswith("/sub"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    listing = find([str(tmp_path)])
    bad, good = listing
    assert (bad.uri, good.uri) == (f"{tmp_path}/sub", f"{tmp_path}/z/b.md")
    with pytest.raises(IngestError, match="cannot be listed: Permission denied"):
        bad.read(100)
    assert not listing.covers(f"{tmp_path}/sub/a.md")
    assert listing.covers(f"{tmp_path}/z/gone.md")


def test_a_file_answers_for_itself_and_what_is_in_it(tmp_path: Path) -> None:
    _files(tmp_path, "a.md")
    listing = find([str(tmp_path / "a.md")])
    list(listing)
    answers = [
        listing.covers(f"{tmp_path}/{name}") for name in ("a.md", "a.md#1", "a.md!/b", "a.mdx")
    ]
    assert answers == [True, True, True, False]


def test_metadata_and_title_come_from_the_options(tmp_path: Path) -> None:
    _files(tmp_path, "a.md")
    options = SourceOptions(title="A title", metadata=pairs(["year=2020", "number=007"]))
    (item,) = find([str(tmp_path / "a.md")], options)
    assert item.title == "A title"
    assert item.metadata == {"year": "2020", "number": "007"}  # filters compare them as numbers


@pytest.mark.parametrize(
    ("pair", "message"),
    [("year", "write KEY=VALUE"), ("=x", "write KEY=VALUE"), ("a" * 101 + "=x", "1 to 100")],
)
def test_metadata_that_is_none_is_refused(pair: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        pairs([pair])
    with pytest.raises(UsageError, match="given twice"):
        pairs(["a=1", "a=2"])


def test_memory_does_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    for folder in range(25):
        _files(tmp_path, *(f"{folder}/{name}.md" for name in range(20)))
    listing = find([str(tmp_path)])
    assert sum(1 for _ in listing) == 500
    tracemalloc.start()
    assert sum(1 for _ in listing) == 500
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000  # a folder's names; all of the items would take 300 kB


def _skipped(listing: Listing, folder: Path) -> dict[str, str]:
    return {file.uri.removeprefix(f"{folder}/"): file.reason for file in listing.skipped.named}


def _files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def _found(place: Path, *, in_: Path, options: SourceOptions | None = None) -> list[str]:
    return [item.uri.removeprefix(f"{in_}/") for item in find([str(place)], options)]
