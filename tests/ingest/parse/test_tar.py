"""Tar archives: files and names as in zip archives, links, archives that lie or explode."""

import io
import tarfile
import tracemalloc
from collections.abc import Mapping

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import CONTAINERS, MEDIA_TYPES, ParseOptions, members_of

MEGABYTE = 1 << 20
PACKED = {".tar": "", ".tar.gz": "gz", ".tgz": "gz", ".tar.bz2": "bz2", ".tar.xz": "xz"}


def tarred(files: Mapping[str, bytes], packing: str = "", *links: tuple[str, bytes, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{packing}") as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, kind, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info)
    return buffer.getvalue()


def reason(data: bytes, budget: int = 8 * MEGABYTE) -> str:
    with pytest.raises(IngestError) as caught:
        members_of(data, ".tar", ParseOptions(unzipped_bytes=budget))
    assert "\n" not in caught.value.reason
    return caught.value.reason


@pytest.mark.parametrize("suffix", PACKED)
def test_files_with_their_names_in_order(suffix: str) -> None:
    data = tarred({"b/说明.md": "# 你好".encode(), "./a.txt": b"hello"}, PACKED[suffix])
    assert members_of(data, suffix) == [("b/说明.md", "# 你好".encode()), ("a.txt", b"hello")]
    assert suffix in CONTAINERS
    assert suffix not in MEDIA_TYPES


def test_no_name_leads_out_and_links_are_passed_over() -> None:
    files = {"../../etc/passwd": b"1", "/abs.txt": b"2", ".hidden/x.md": b"3", "a/~$x.docx": b"4"}
    links = (
        ("soft.txt", tarfile.SYMTYPE, "/etc/passwd"),
        ("hard.txt", tarfile.LNKTYPE, "a.txt"),
        ("pipe", tarfile.FIFOTYPE, ""),
        ("dir", tarfile.DIRTYPE, ""),
    )
    assert members_of(tarred(files, "", *links), ".tar") == [
        ("etc/passwd", b"1"),
        ("abs.txt", b"2"),
    ]


def test_names_in_another_encoding() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", encoding="gbk", format=tarfile.GNU_FORMAT) as file:
        file.addfile(tarfile.TarInfo("项目计划/会议记录.txt"))
    assert members_of(buffer.getvalue(), ".tar") == [("项目计划/会议记录.txt", b"")]


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_a_bomb_stops_at_the_budget(packing: str) -> None:
    data = tarred({"a.txt": bytes(64 * MEGABYTE)}, packing)
    assert len(data) < MEGABYTE
    tracemalloc.start()
    message = reason(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message == "unpacks to more than the budget of 8 MB (RAGKIT_PARSE_UNZIPPED_MB)"
    assert peak < 32 * MEGABYTE


def test_many_small_members_share_the_budget() -> None:
    data = tarred({f"{n}.txt": bytes(MEGABYTE) for n in range(9)}, "gz")
    assert reason(data).startswith("unpacks to more than the budget")


def test_too_many_members() -> None:
    data = tarred({f"{n}": b"" for n in range(20_001)}, "gz")
    assert reason(data, 64 * MEGABYTE) == "more than 20000 members in its archive"


def test_damaged_and_foreign_data() -> None:
    damaged = "truncated or damaged archive, or not really one"
    for packing in ("", "gz", "bz2", "xz"):
        data = tarred({"a.txt": b"hello" * 1000}, packing)
        for size in (5, 40, len(data) // 4, len(data) // 2 if packing else 3000):
            assert reason(data[:size]) == damaged, (packing, size)
    assert reason(b"hello") == damaged
    assert reason(b"\x1f\x8bhello" * 100) == damaged
