"""Old Office files: workbooks, what LibreOffice converts, and files that only have such a name."""

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit.types import Page
from ragkit_ingest.parse import ParseOptions, parse_bytes
from ragkit_ingest.parse.office import conversion
from tests.ingest.parse.office.oldworkbooks import compound, workbook
from tests.ingest.poison import MEGABYTE, bomb, docx, zipped

OLE = compound({"WordDocument": b"x"})
PAGE = b"<html><body><table><tr><td>Item</td><td>Price</td></tr></table></body></html>"


def reason(data: bytes, suffix: str) -> str:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, suffix, ParseOptions(unzipped_bytes=8 * MEGABYTE))
    assert "\n" not in caught.value.reason
    return caught.value.reason


def test_a_workbook() -> None:
    sheets: dict[str, list[list[str | float]]] = {
        "May 五月": [["Item", "Price"], ["Cloth 软布", 5.0], ["Spray", 0.25]],
        "Secret": [["x"]],
        "June": [["Total", 7]],
    }
    parsed = parse_bytes(workbook(sheets, hidden=["Secret"]), ".xls")
    assert parsed.text == (
        "# May 五月\n\n| Item | Price |\n| - | - |\n| Cloth 软布 | 5 |\n| Spray | 0.25 |\n\n"
        "# June\n\n| Total | 7 |\n| - | - |\n"
    )
    assert parsed.pages == (Page(0, 1, "May 五月"), Page(parsed.text.index("# June"), 3, "June"))
    assert parsed.notes == {"hidden sheets": 1}


def test_workbooks_that_are_damaged() -> None:
    data = workbook({"May": [["Item"]]})
    damaged = "damaged, or no workbook: open it in Excel or LibreOffice and save it as .xlsx"
    for size in (600, 1200):
        assert reason(data[:size], ".xls") == damaged
    assert reason(OLE, ".xls") == damaged
    assert reason(b"hello", ".xls") == "not a file of old Excel, as its name says: save it as .xlsx"
    assert reason(zipped({"xl/workbook.bin": b"?"}), ".xlsb") == damaged


def test_a_binary_workbook_unpacks_on_the_budget() -> None:
    assert reason(bomb("xl/workbook.bin"), ".xlsb").startswith("unpacks to more than the budget")


def test_a_sheet_that_claims_a_million_places() -> None:
    far = workbook({"May": [["a"], *[[]] * 65_000, [""] * 99 + ["b"]]})
    assert reason(far, ".xls") == (
        "sheet 'May' has more than 5,000,000 places: save it as .xlsx, whose empty ones take no"
        " memory"
    )


@pytest.mark.parametrize("suffix", [".doc", ".dot", ".xls", ".ppt", ".pps"])
def test_files_that_only_have_the_name(suffix: str) -> None:
    assert parse_bytes(rb"{\rtf1 Wipe it.}", suffix).text == "Wipe it.\n"
    assert "Item" in parse_bytes(b"\r\n" + PAGE, suffix).text
    if suffix in {".doc", ".dot"}:
        assert parse_bytes(docx(), suffix).text == "text\n"


# A program in LibreOffice's place: it notes its words and settings, and does as told.
STAND_IN = """#!{python}
import os, subprocess, sys, time
from pathlib import Path
here = Path({here!r})
words = sys.argv[1:]
(here / "words").write_text("\\n".join(words))
profile = next(word for word in words if word.startswith("-env:")).partition("file://")[2]
(here / "settings").write_text(Path(profile, "user/registrymodifications.xcu").read_text())
if {deed!r} == "hang":
    child = subprocess.Popen(["{python}", "-c", "import time; time.sleep(600)"])
    (here / "child").write_text(str(child.pid))
    time.sleep(600)
out = Path(words[words.index("--outdir") + 1])
out.mkdir()
if {deed!r} == "convert":
    suffix = words[words.index("--convert-to") + 1]
    (out / f"file.{{suffix}}").write_bytes((here / "result").read_bytes())
"""


def stand_in(folder: Path, deed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "bin" / "soffice"
    program.parent.mkdir()
    source = STAND_IN.format(python=sys.executable, here=str(folder), deed=deed)
    program.write_text(source, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent))


def test_what_the_program_makes_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "convert", monkeypatch)
    (tmp_path / "result").write_bytes(docx())
    assert parse_bytes(OLE, ".doc").text == "text\n"
    words = (tmp_path / "words").read_text().split("\n")
    assert {"--headless", "--norestore", "docx"} <= set(words)
    settings = (tmp_path / "settings").read_text()
    assert 'oor:name="DisableMacrosExecution" oor:op="fuse"><value>true<' in settings
    assert not Path(words[-1]).parent.exists()  # nothing of it stays


def test_what_the_program_cannot_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "nothing", monkeypatch)
    assert reason(OLE, ".ppt") == (
        "LibreOffice cannot read it: it is damaged, or needs a password;"
        " open it in PowerPoint and save it as .pptx"
    )


def test_a_program_that_hangs_ends_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, "hang", monkeypatch)
    monkeypatch.setattr(conversion, "_TIMEOUT_S", 3)
    assert reason(OLE, ".doc") == "LibreOffice took longer than 3 s to read it: save it as .docx"
    child = Path("/proc", (tmp_path / "child").read_text(), "stat")
    deadline = time.monotonic() + 10
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        os.sched_yield()


def test_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert reason(OLE, ".doc") == ("a file of old Word: install LibreOffice, or save it as .docx")
    assert reason(OLE, ".pps") == (
        "a file of old PowerPoint: install LibreOffice, or save it as .pptx"
    )
