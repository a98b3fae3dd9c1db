"""Skipped and unreadable files as a user meets them: named with a reason by every command."""

import os
from pathlib import Path

import pytest

from tests.commands import Commands

pytestmark = pytest.mark.usefixtures("shared_model")


@pytest.fixture
def ragkit(fresh_database: str, tmp_path: Path) -> Commands:
    folder = tmp_path / "papers"
    (folder / ".git").mkdir(parents=True)
    (folder / "leave.md").write_text("Everyone has 25 days of leave.\n")
    (folder / "setup.exe").write_bytes(b"MZ")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    (folder / "up").symlink_to(tmp_path)
    return Commands(fresh_database, tmp_path)


SKIPPED = """Skipped: 3 files
  a format that ragkit does not read (.exe): setup.exe
  a link to a folder: up
  hidden (--hidden takes them): .git
"""


def test_each_skipped_file_is_named_with_its_reason(ragkit: Commands) -> None:
    ahead = ragkit("ingest", "papers", "--dry-run").stdout
    assert SKIPPED in ahead
    assert ahead.endswith("This was a dry run: nothing was done.\n")
    done = ragkit("ingest", "papers", code=3)
    assert SKIPPED in done.stdout
    assert f"Failed: 1 file\n  {ragkit.folder}/papers/broken.pdf: " in done.stdout
    report = ragkit("jobs", "report").stdout
    assert f"  {ragkit.folder}/papers/setup.exe: a format that ragkit does not read" in report


def test_json_names_them_too(ragkit: Commands) -> None:
    expected = [
        {"uri": f"{ragkit.folder}/papers/.git", "reason": "hidden (--hidden takes them)"},
        {"uri": f"{ragkit.folder}/papers/setup.exe", "reason": f"{UNREAD} (.exe)"},
        {"uri": f"{ragkit.folder}/papers/up", "reason": "a link to a folder"},
    ]
    for code, more in ((0, ["--dry-run"]), (0, ["--queue", "--exclude", "*.pdf"])):
        told = ragkit.json("ingest", "papers", *more, code=code)
        named = [file for file in told["skipped_files"] if "broken" not in file["uri"]]
        assert sorted(named, key=lambda file: str(file["uri"])) == expected


UNREAD = "a format that ragkit does not read"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("setup.exe", b"MZ", f"{UNREAD} (.exe)"),
        ("core", b"\x7fELF" + bytes(99), "a file without an ending, and not of text"),
        ("empty.txt", b"", "the file is empty (0 bytes)"),
        ("leave.md.meta.json", b"{}", "it describes another file: name that one instead"),
    ],
)
def test_a_file_that_was_named_is_never_skipped(
    ragkit: Commands, name: str, data: bytes, reason: str
) -> None:
    (ragkit.folder / name).write_bytes(data)
    done = ragkit("ingest", name, "papers/leave.md", code=3)
    assert "Added: 1 document" in done.stdout
    assert f"Failed: 1 file\n  {ragkit.folder}/{name}: {reason}\n" in done.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_named(ragkit: Commands) -> None:
    locked = ragkit.folder / "locked.txt"
    locked.write_text("secret")
    locked.chmod(0)
    done = ragkit("ingest", "locked.txt", code=3)
    assert f"  {locked}: Permission denied" in done.stdout
