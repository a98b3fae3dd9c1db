"""Files without a suffix: their names and first bytes tell how they are read."""

import io
import zipfile
from pathlib import Path

import pytest

from ragkit_ingest.sources import find
from ragkit_ingest.sources.suffixless import suffix_by_content


@pytest.mark.parametrize(
    ("name", "data", "suffix"),
    [
        ("README", b"# A tool", ".txt"),
        ("LICENSE", "许可证：任何人都可以使用。".encode("gbk"), ".txt"),
        ("CHANGELOG", "变更".encode() * 3000, ".txt"),  # its head ends within a character
        ("Makefile", b"all: x", ".mk"),
        ("docker/Dockerfile", b"FROM x", ".dockerfile"),
        ("Jenkinsfile", b"node {}", ".groovy"),
        ("Gemfile", b"gem 'x'", ".rb"),
        ("deploy", b"#!/bin/sh\nls", ".sh"),
        ("deploy", b"#!/usr/bin/env python3\nprint()", ".py"),
        ("core", b"\x7fELF\x02" + bytes(100), ""),
        ("Makefile", bytes(range(256)) * 20, ""),
        ("marker", b"", ""),
        ("marker", b" \n", ""),
    ],
)
def test_what_a_file_is_read_as(name: str, data: bytes, suffix: str) -> None:
    assert suffix_by_content(name, lambda: io.BytesIO(data)) == suffix


def test_files_of_a_folder_and_of_an_archive(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("Wipe it.")
    (tmp_path / "core").write_bytes(b"\x7fELF" + bytes(99))
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "locked").symlink_to(tmp_path / "nowhere")
    listing = find([str(tmp_path)])
    items = {item.name: item.suffix for item in listing}
    assert items == {"README": ".txt", "": ".txt"}  # the second cannot be read
    assert {Path(file.uri).name: file.reason for file in listing.skipped.named} == {
        ".hidden": "hidden (--hidden takes them)",
        "core": "a file without an ending, and not of text",
    }


def test_a_drawing_in_a_folder_needs_text(tmp_path: Path) -> None:
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit_ingest.run.skip_rules import passed_over

    (tmp_path / "icon.svg").write_text("<svg><title>Save</title><path/></svg>")
    (tmp_path / "plan.svg").write_text("<svg><text>Exit</text></svg>")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("README", "Dry it.")
    reasons = {
        item.name: passed_over(item, IngestOptions())
        for item in find([str(tmp_path)])
        if item.suffix == ".svg"
    }
    assert reasons == {"icon": "a drawing without text", "plan": ""}
    (named,) = find([str(tmp_path / "icon.svg")])
    assert passed_over(named, IngestOptions()) == ""
