"""TREC files: what is read of them, and the line that is named when they are not right."""

from pathlib import Path

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.retrieval import read_qrels, read_trec_run


def test_qrels_and_runs_are_read(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_bytes("\ufeff7 0 文件.md 1\r\n\n7\t0\tb\t-1\n8 0 a 2".encode())
    run.write_text("7 Q0 b 2 1.5 mine\n7 Q0 文件.md 1 2e3 mine and more\n8 Q0 a 1 -inf\n", "utf-8")
    assert read_qrels(qrels) == {"7": {"文件.md": 1, "b": -1}, "8": {"a": 2}}
    assert read_trec_run(run) == {"7": {"b": 1.5, "文件.md": 2000.0}, "8": {"a": -float("inf")}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"7 0 a 1\n7 0 b\n", "FILE:2: 3 fields: a line is 'query 0 document grade'"),
        (b"7 0 a b 1\n", "FILE:1: 5 fields"),
        (b"7 0 a 0.5\n", "FILE:1: the grade '0.5' is not a whole number: write 0"),
        (b"7 0 a 1_0\n", "FILE:1: the grade '1_0' is not a whole number: write 0"),
        (b"7 0 a 1\n\n7 0 a 0\n", "FILE:3: query 7 has the document 'a' twice"),
        (b"7 0 a 1\n7 0 \xff 1\n", "FILE:2: is not UTF-8"),
        (b"\n \n", "FILE: has no lines: a line is 'query 0 document grade'"),
        (b"", "FILE: has no lines"),
    ],
)
def test_a_wrong_line_of_judgements_is_named(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "qrels.txt"
    path.write_bytes(text)
    with pytest.raises(UsageError) as failed:
        read_qrels(path)
    assert str(failed.value).startswith(message.replace("FILE", str(path)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"7 Q0 a 1\n", "FILE:1: 4 fields: a line is 'query Q0 document rank score name'"),
        (b"7 Q0 a 1 2.0 x\n7 Q0 b 2 high x\n", "FILE:2: the score 'high' is not a number"),
        (b"7 Q0 a 1 nan x\n", "FILE:1: the score 'nan' is not a number"),
        (b"7 Q0 a 1 2.0 x\n7 Q0 a 2 1.0 x\n", "FILE:2: query 7 has the document 'a' twice"),
    ],
)
def test_a_wrong_line_of_a_run_is_named(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "run.txt"
    path.write_bytes(text)
    with pytest.raises(UsageError) as failed:
        read_trec_run(path)
    assert str(failed.value).startswith(message.replace("FILE", str(path)))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"cannot read .*nowhere: No such file"):
        read_qrels(tmp_path / "nowhere")
    with pytest.raises(NotFoundError, match="Is a directory"):
        read_trec_run(tmp_path)
