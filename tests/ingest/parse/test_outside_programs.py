"""What other programs of the machine read: 7z archives by bsdtar, HEIC pictures by heif-convert.

A program stands in for each, as machines lack them; where a real one is installed, it is tried too.
"""

import io
import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit.system.converters import BSDTAR, HEIF
from ragkit_ingest.parse import ParseOptions, members_of, ocr, parse_bytes

SEVEN = b"7z\xbc\xaf\x27\x1c"
# It notes its words, writes what it was given, and ends as told.
STAND_IN = """#!{python}
import os, pathlib, sys, time
here = pathlib.Path({here!r})
(here / "words").write_text(chr(10).join([os.getcwd(), os.environ["HOME"], *sys.argv[1:]]))
if {deed!r} == "hang":
    time.sleep(600)
result = (here / "result").read_bytes()
if sys.argv[-1].endswith(".png"):
    if result:
        pathlib.Path(sys.argv[-1]).write_bytes(result)
else:
    sys.stdout.buffer.write(result)
sys.exit({deed!r} == "fail")
"""


def stand_in(
    folder: Path, name: str, result: bytes, monkeypatch: pytest.MonkeyPatch, deed: str = "write"
) -> None:
    program = folder / "bin" / name
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable, here=str(folder), deed=deed))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (folder / "result").write_bytes(result)
    monkeypatch.setenv("PATH", str(program.parent))


def tarred(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"{name}.txt")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return buffer.getvalue()


def reason(data: bytes, budget: int = 1 << 20) -> str:
    with pytest.raises(IngestError) as caught:
        members_of(data, ".7z", ParseOptions(unzipped_bytes=budget))
    assert "\n" not in caught.value.reason
    return caught.value.reason


def test_files_of_a_7z_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "bsdtar", tarred(a=b"one", b=b"two"), monkeypatch)
    assert members_of(SEVEN + b"x", ".7z") == [("a.txt", b"one"), ("b.txt", b"two")]
    folder, home, *words = (tmp_path / "words").read_text().split("\n")
    assert words == ["-cf", "-", "--format=pax", "@archive.7z"]
    assert home == folder
    assert not Path(folder).exists()  # nothing of it stays


def test_a_7z_archive_that_cannot_be_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = "damaged, empty, or it needs a password: pack what is in it anew as .zip"
    for number, (result, deed) in enumerate(
        [(tarred(a=b"one"), "fail"), (tarred(a=bytes(2000))[:700], "write"), (b"", "fail")]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        stand_in(folder, "bsdtar", result, monkeypatch, deed)
        assert reason(SEVEN) == damaged
    assert reason(b"PK\x03\x04") == "damaged, or no 7z archive, as its name says"


def test_a_7z_archive_that_explodes_ends_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, "bsdtar", tarred(a=bytes(3 << 20)), monkeypatch)
    assert "more than the budget of 1 MB" in reason(SEVEN)


def test_without_the_program_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert reason(SEVEN) == (
        "a 7z archive: install bsdtar (libarchive-tools), or pack what is in it anew as .zip"
    )
    monkeypatch.setattr(ocr, "refusal", lambda *_, **__: "")
    with pytest.raises(IngestError, match=r"install heif-convert \(libheif-examples\), or save it"):
        parse_bytes(b"x", ".heic")


@pytest.mark.skipif(not BSDTAR.path(), reason="bsdtar is not installed: libarchive-tools")
def test_the_real_bsdtar(tmp_path: Path) -> None:
    (tmp_path / "说明.md").write_text("# 你好", encoding="utf-8")
    (tmp_path / "a.txt").write_text("one")
    os.symlink("/etc/passwd", tmp_path / "link.txt")
    command = [BSDTAR.path(), "-a", "-cf", "all.7z", "a.txt", "link.txt", "说明.md"]
    subprocess.run(command, cwd=tmp_path, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    data = (tmp_path / "all.7z").read_bytes()
    assert sorted(members_of(data, ".7z")) == [("a.txt", b"one"), ("说明.md", "# 你好".encode())]
    assert reason(data[: len(data) // 2]).startswith("damaged, empty, or it needs a password")


def picture() -> bytes:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (900, 200), "white")
    ImageDraw.Draw(image).text((30, 60), "Forty kilograms", fill="black", font_size=56)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


needs_ocr = pytest.mark.skipif(bool(ocr.refusal("auto")), reason="the extra ocr is not installed")


@needs_ocr
def test_the_text_of_a_heic_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "heif-convert", picture(), monkeypatch)
    assert "Forty kilograms" in parse_bytes(b"x", ".heic").text
    folder, _, *words = (tmp_path / "words").read_text().split("\n")
    assert words == ["picture.heic", "picture.png"]
    assert not Path(folder).exists()


@needs_ocr
def test_a_heic_picture_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, "heif-convert", b"", monkeypatch, "fail")
    with pytest.raises(IngestError, match="damaged, or no HEIC picture, as its name says"):
        parse_bytes(b"x", ".heic")
    (tmp_path / "bin" / "heif-convert").unlink()
    (tmp_path / "bin").rmdir()
    stand_in(tmp_path, "heif-convert", b"", monkeypatch, "hang")
    monkeypatch.setattr("ragkit_ingest.parse.heic._TIMEOUT_S", 1)
    with pytest.raises(IngestError, match="took longer than 1 s to read it"):
        parse_bytes(b"x", ".heic")


@needs_ocr
@pytest.mark.skipif(not HEIF.path(), reason="heif-convert is not installed: libheif-examples")
def test_the_real_heif_convert(tmp_path: Path) -> None:
    encoder = Path(HEIF.path()).with_name("heif-enc")
    if not encoder.exists():
        pytest.skip("heif-enc, which makes the picture, is not installed")
    (tmp_path / "a.png").write_bytes(picture())
    subprocess.run(
        [encoder, "a.png", "-o", "a.heic"], cwd=tmp_path, check=True, capture_output=True
    )
    assert "Forty kilograms" in parse_bytes((tmp_path / "a.heic").read_bytes(), ".heic").text
