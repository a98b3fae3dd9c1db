"""Texts of files, folders and a collection, in order and without copies."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from ragkit.errors import NotFoundError, UsageError
from ragkit_tune.model_files.texts import gather_texts, read_texts
from tests.commands import Commands


def test_lines_and_strings_of_files_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n\n  two \none\n", "utf-8")
    (folder / "deep" / "b.MD").write_text("三\u2028四\n", "utf-8")
    (folder / "deep" / "c.pdf").write_bytes(b"\xff")
    rows = [
        {"query": "q", "positive": "p", "document": "not a text"},
        {"messages": [{"role": "user", "content": "m"}, {"role": "assistant", "content": " "}]},
    ]
    (folder / "d.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert read_texts([folder]) == ["one", "two", "q", "p", "m", "三\u2028四"]
    assert read_texts([folder / "deep" / "b.MD", folder / "a.txt"]) == ["三\u2028四", "one", "two"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"a", r"a\.csv: write it as one of \.txt, \.md, \.jsonl"),
        ("a.txt", b"\xff\xfe", r"a\.txt:1: not UTF-8"),
        ("a.jsonl", b"{", r"a\.jsonl:1: not JSON"),
        ("a.jsonl", b"[1]", r"a\.jsonl:1: no text"),
        ("a.txt", b"\n \n", r"a\.txt: no text in them"),
    ],
)
def test_files_without_texts_are_named(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=reason):
        read_texts([tmp_path / name])


def test_nothing_named_or_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no texts: name --texts FILE or --collection NAME"):
        gather_texts([], None)
    with pytest.raises(NotFoundError, match=r"nowhere\.md does not exist"):
        read_texts([tmp_path / "nowhere.md"])


def test_a_collections_documents_choose_the_tokens(fresh_database: str, tmp_path: Path) -> None:
    ragkit = Commands(fresh_database, tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Zirconium\n\nZirconium oxidises.\n" * 20, "utf-8")
    ragkit("ingest", "docs", "--collection", "metals", RAGKIT_EMBED_MODEL="minilm")
    words = ("tune", "tokenizer", "train", "--size", "300", "--collection")
    printed = ragkit.json(*words, "metals", "--out", "out")
    assert (printed["output"], printed["texts"]) == ("out", 2)  # a heading, and a line
    tokenizer = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert len(tokenizer.encode("Zirconium oxidises.").ids) < 8
    line = ragkit.error(*words, "none", "--out", "again", code=2)
    assert "collection 'none'" in line
