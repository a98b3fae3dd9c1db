"""Which files an ingestion takes, and what it calls them."""

import os
from pathlib import Path

import pytest

from ragkit.errors import NotFoundError
from ragkit_ingest.discover import Found, discover, uri_of


def test_folders_are_walked_in_order_and_other_formats_counted(tmp_path: Path) -> None:
    for name in ("b.md", "a.TXT", "sub/c.pdf", "image.png", ".hidden/x.md", "sub/.y.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.txt")
    assert discover([tmp_path]) == Found(
        (tmp_path / "a.TXT", tmp_path / "b.md", tmp_path / "sub" / "c.pdf"),
        (tmp_path / "image.png",),
    )


def test_a_hidden_file_named_directly_is_taken(tmp_path: Path) -> None:
    (tmp_path / ".notes.md").touch()
    assert discover([tmp_path / ".notes.md"]).files == (tmp_path / ".notes.md",)


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").touch()
    monkeypatch.chdir(tmp_path)
    assert discover([Path("a.md"), Path("."), Path("../") / tmp_path.name]).files == (
        tmp_path / "a.md",
    )


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"nowhere\.md.*check the path"):
        discover([tmp_path, tmp_path / "nowhere.md"])


def test_a_name_that_is_not_utf8_has_a_storable_uri() -> None:
    assert uri_of(Path(os.fsdecode(b"/caf\xe9/\xe8\x8c\xb6.md"))) == "/caf\\xe9/茶.md"
