"""Zip archives: names that are safe and readable, and archives that lie, explode or are locked."""

import io
import stat
import struct
import tracemalloc
import zipfile

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import CONTAINERS, MEDIA_TYPES, ParseOptions, members_of
from ragkit_ingest.parser.pool import ParserPool
from tests.ingest.poison import MEGABYTE, zipped


def renamed(data: bytes, name: bytes, replacement: bytes) -> bytes:
    """Put other bytes in the place of a name, in both of an archive's lists of names."""
    assert len(name) == len(replacement)
    assert data.count(name) == 2
    return data.replace(name, replacement)


def unzip(data: bytes, budget: int = 8 * MEGABYTE) -> list[tuple[str, bytes]]:
    return members_of(data, ".zip", ParseOptions(unzipped_bytes=budget))


def names(data: bytes) -> list[str]:
    return [name for name, _ in unzip(data)]


def reason(data: bytes, budget: int = 8 * MEGABYTE) -> str:
    with pytest.raises(IngestError) as caught:
        unzip(data, budget)
    assert caught.value.stage == "parse"
    assert "\n" not in caught.value.reason
    return caught.value.reason


def test_files_with_their_names_in_order() -> None:
    inner = zipped({"deep.txt": "deep"})
    data = zipped({"b/readme.txt": "hello", "b/": "", "a.zip": inner, "说明.md": "# 你好"})
    assert unzip(data) == [
        ("b/readme.txt", b"hello"),
        ("a.zip", inner),  # not unpacked in its turn
        ("说明.md", "# 你好".encode()),
    ]


def test_a_zip_is_a_container_and_has_no_text_of_its_own() -> None:
    assert CONTAINERS[".zip"] == "zip"
    assert ".zip" not in MEDIA_TYPES


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("项目计划/会议记录.txt", "gbk"),
        ("項目計劃/會議記錄.txt", "big5"),
        ("Prüfung/Größe.txt", "utf-8"),
        ("Grösse.txt", "cp437"),
    ],
)
def test_names_without_a_mark_of_their_encoding(name: str, encoding: str) -> None:
    raw = name.encode(encoding)
    data = zipped({"x" * (len(raw) - 4) + ".txt": "text"})
    assert names(renamed(data, b"x" * (len(raw) - 4) + b".txt", raw)) == [name]


def test_a_unicode_path_in_the_extra_field_is_the_name() -> None:
    buffer = io.BytesIO()
    info = zipfile.ZipInfo("old.txt")
    path = "新名.txt".encode()
    info.extra = struct.pack("<HHBI", 0x7075, 5 + len(path), 1, 0) + path
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(info, "text")
    assert names(buffer.getvalue()) == ["新名.txt"]


def test_no_name_leads_out() -> None:
    data = zipped(
        {
            "../../etc/passwd.txt": "1",
            "/abs/a.txt": "2",
            "..\\win\\b.txt": "3",
            "C:\\c.txt": "4",
            "d/./../e.txt": "5",
            "..": "6",
            "abs/a.txt": "7",
        }
    )
    assert names(data) == [
        "etc/passwd.txt",
        "abs/a.txt",
        "win/b.txt",
        "c.txt",
        "d/e.txt",
        "abs/a (2).txt",
    ]


def test_what_nobody_put_in_on_purpose_is_passed_over() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name in ("__MACOSX/._a.txt", ".git/config", ".hidden", "a/Thumbs.db", "~$b.docx"):
            file.writestr(name, "x")
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc/passwd")
        file.writestr("kept.txt", "kept")
    assert unzip(buffer.getvalue()) == [("kept.txt", b"kept")]


def test_a_bomb_stops_at_the_budget() -> None:
    bomb = zipped({"zeros.txt": bytes(100 * MEGABYTE)})
    assert len(bomb) < MEGABYTE
    tracemalloc.start()
    message = reason(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message == "unpacks to more than the budget of 8 MB (RAGKIT_PARSE_UNZIPPED_MB)"
    assert peak < 32 * MEGABYTE


def test_many_members_share_the_budget_also_under_one_name() -> None:
    data = zipped({f"sam{n}.txt": bytes(MEGABYTE) for n in range(9)})
    for n in range(9):
        data = data.replace(f"sam{n}.txt".encode(), b"same.txt")
    assert reason(data) == "unpacks to more than the budget of 8 MB (RAGKIT_PARSE_UNZIPPED_MB)"


def test_a_hidden_member_is_not_even_inflated() -> None:
    assert unzip(zipped({".x": bytes(20 * MEGABYTE), "a.txt": "a"})) == [("a.txt", b"a")]


@pytest.mark.parametrize("claimed", [1000, 3 * MEGABYTE])
def test_a_member_that_lies_about_its_size(claimed: int) -> None:
    data = bytearray(zipped({"big.txt": b"x" * 2 * MEGABYTE}))
    place = data.rindex(b"big.txt") - 46  # its entry in the archive's directory
    assert data[place : place + 4] == b"PK\x01\x02"
    struct.pack_into("<I", data, place + 24, claimed)
    message = reason(bytes(data))
    if claimed < 2 * MEGABYTE:
        assert message == "damaged zip member 'big.txt'"
    else:
        assert message == "zip member 'big.txt' claims 3145728 bytes and has 2097152"


def test_members_that_share_their_bytes() -> None:
    data = bytearray(zipped({"a.txt": b"x" * 5000, "b.txt": b"y" * 5000}))
    place = data.rindex(b"b.txt") - 46
    struct.pack_into("<I", data, place + 42, 0)  # both are now said to begin at 0
    assert reason(bytes(data)) == (
        "zip member 'b.txt' shares its bytes with another one, as only a zip bomb's do"
    )


def test_an_encrypted_member() -> None:
    data = bytearray(zipped({"a.txt": "secret"}))
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data[data.index(mark) + offset] |= 1
    assert reason(bytes(data)) == "encrypted: its zip members need a password"


def test_a_method_that_python_inflates_without_bound() -> None:
    assert reason(zipped({"a.txt": "x"}, method=zipfile.ZIP_BZIP2)) == (
        "zip method 12, so pack it anew with the usual one"
    )


def test_truncated_and_foreign_data() -> None:
    data_ = zipped({"a.txt": "hello", "b.txt": "you"})
    assert {reason(data_[:size]) for size in range(4, len(data_), 7)} == {
        "truncated or damaged zip archive, which its format is made of"
    }
    assert reason(b"hello") == "not really a zip archive, which its format is made of"


def test_damage_within_is_named() -> None:
    data = bytearray(zipped({"a.txt": b"hello" * 100}))
    data[data.index(b"a.txt") + 7] ^= 0xFF
    assert reason(bytes(data)) == "damaged zip member 'a.txt'"


def test_unpacking_in_the_sandbox() -> None:
    with ParserPool(1) as pool:
        members = pool.members(zipped({"a.txt": "hello"}), ".zip").result(timeout=60)
    assert [(name, part.read()) for name, part in members] == [("a.txt", b"hello")]
