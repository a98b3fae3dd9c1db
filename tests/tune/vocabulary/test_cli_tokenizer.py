"""`ragkit tune tokenizer` as it is typed: training, extending, reports, mistakes."""

import json
from pathlib import Path

from tests.commands import run
from tests.tune.shrink.tiny_embedders import CHINESE, ENGLISH, write_embedder


def test_a_vocabulary_is_trained_and_measured(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "en.md").write_text("\n".join(ENGLISH), "utf-8")
    rows = [json.dumps({"text": text}) for text in CHINESE]
    (tmp_path / "texts" / "zh.jsonl").write_text("\n".join(rows), "utf-8")
    words = ("tune", "tokenizer", "train", "--texts", "texts", "--size", "600")
    result = run(*words, "--report", "--against", "minilm", "--out", "out", folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    first, second = result.stdout.splitlines()
    assert first == "out: 600 tokens of 80 texts."
    assert second.startswith("Trained on the other half: 0.")
    assert "on 40 held-out texts of" in second
    result = run(*words, "--model", "unigram", "--json", "--out", "again", folder=tmp_path)
    printed = json.loads(result.stdout)
    assert (printed["texts"], printed["report"]) == (80, None)


def test_a_model_is_extended_and_called_unproven(tmp_path: Path) -> None:
    write_embedder(tmp_path / "model", "BPE", layers=1)
    (tmp_path / "texts.txt").write_text("Zirconium oxide\nzirconium oxides\n" * 2, "utf-8")
    words = ("tune", "tokenizer", "extend", "./model", "--texts", "texts.txt", "--add", "3")
    result = run(*words, "--out", "out", folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[1] == "3 new tokens make the texts 6 tokens shorter."
    assert lines[2] == (
        "New rows are the mean of the old tokens' rows: train the model before you use it."
    )
    assert lines[3] == "The vocabulary shows words of the texts."
    assert lines[-2].startswith("unproven: ragkit tune prove ")
    assert lines[-2].endswith(" --set questions.jsonl")


def test_mistakes_are_one_line_with_the_exit_code_of_misuse(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("a b c", "utf-8")
    for words, reason in (
        (("--model", "wordpiece"), "--model wordpiece is unknown: choose one of bpe, unigram"),
        (("--size", "12"), "--size 12 is not between 300 and 1,000,000"),
        (("--against", "minilm"), "--against names what --report compares with: give both"),
        (("--texts", "none.txt"), "--texts none.txt does not exist"),
    ):
        texts = () if "--texts" in words else ("--texts", "texts.txt")
        options = ("--out", "out", *texts, *words)
        result = run("tune", "tokenizer", "train", *options, folder=tmp_path)
        assert (result.returncode, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert reason in line
