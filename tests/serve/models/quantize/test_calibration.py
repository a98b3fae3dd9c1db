"""Calibration files: what is read from them, in both languages, and what is refused."""

import hashlib
import json
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_models.quantize.calibration import Calibration, read_calibration

ENGLISH = [f"Paragraph {number} of the handbook.\nIts second line." for number in range(12)]
CHINESE = [f"手册第{number}段。\n第二行。" for number in range(12)]


def read(file: Path, *, samples: int = 512, seed: int = 0) -> Calibration:
    return read_calibration(file, samples=samples, seed=seed)


@pytest.mark.parametrize("suffix", [".txt", ".md", ".TXT"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_paragraphs_stand_between_blank_lines(
    tmp_path: Path, suffix: str, newline: str, mark: bytes
) -> None:
    text = "\n\n \n".join(ENGLISH + CHINESE) + "\n"
    file = tmp_path / f"texts{suffix}"
    file.write_bytes(mark + text.replace("\n", newline).encode())
    read_back = read(file)
    assert {sample["text"] for sample in read_back.samples} == {*ENGLISH, *CHINESE}
    assert read_back.available == 24
    assert read_back.name == f"texts{suffix}"
    assert read_back.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_without_blank_lines_each_line_is_a_paragraph(tmp_path: Path) -> None:
    file = tmp_path / "行.txt"
    file.write_text("\n".join(f"第{number}条规定。" for number in range(20)), encoding="utf-8")
    assert {"text": "第19条规定。"} in read(file).samples
    assert read(file).available == 20


def test_json_lines_hold_texts_or_messages(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "年假？", "name": "dropped"}]
    rows: list[dict[str, object]] = [{"text": f"Text {n}\nline"} for n in range(16)]
    rows.append({"messages": messages, "id": 7})
    file = tmp_path / "rows.jsonl"
    # U+2028 parts lines for str.splitlines but not in JSON lines
    rows.append({"text": "one\u2028sample"})
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    file.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    samples = read(file).samples
    assert len(samples) == 18
    assert {"messages": [{"role": "user", "content": "年假？"}]} in samples
    assert {"text": "one\u2028sample"} in samples


def test_a_seed_draws_the_same_samples_and_another_draws_others(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("\n\n".join(ENGLISH + CHINESE), encoding="utf-8")
    first = read(file, samples=6, seed=1).samples
    assert len(first) == 6
    assert read(file, samples=6, seed=1).samples == first
    assert read(file, samples=6, seed=2).samples != first


def test_equal_samples_count_once(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("\n\n".join(["The same."] * 100), encoding="utf-8")
    with pytest.raises(UsageError, match="holds 1 different samples: give at least 16"):
        read(file)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("empty.txt", b"", "holds 0 different samples"),
        ("blank.md", b" \n\n\t\n", "holds 0 different samples"),
        ("few.txt", b"one\n\ntwo", "holds 2 different samples"),
        ("latin.txt", "Grüße".encode("latin-1"), "is not UTF-8"),
        ("gbk.txt", "年假".encode("gbk"), "is not UTF-8"),
        ("texts.csv", b"a,b", "one of .txt, .md, .jsonl"),
        ("rows.jsonl", b'{"text": "a"}\n{"text"', "line 2, is not JSON"),
        ("rows.jsonl", b'["a"]', "line 1, is not a JSON object"),
        ("rows.jsonl", b'{"prompt": "a"}', "line 1, has neither a text nor messages"),
        ("rows.jsonl", b'{"text": "  "}', "line 1, has neither a text nor messages"),
        ("rows.jsonl", b'{"messages": []}', "line 1, has neither a text nor messages"),
        ("rows.jsonl", b'{"messages": ["hi"]}', "line 1, has neither a text nor messages"),
        (
            "rows.jsonl",
            b'{"messages": [{"role": "user", "content": null}]}',
            "line 1, has neither a text nor messages",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line(
    tmp_path: Path, name: str, content: bytes, part: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read(tmp_path / name)
    assert part in str(caught.value)
    assert name in str(caught.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.txt cannot be read \(No such file"):
        read(tmp_path / "nowhere.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(UsageError, match=r"folder\.txt cannot be read \(Is a directory"):
        read(tmp_path / "folder.txt")
