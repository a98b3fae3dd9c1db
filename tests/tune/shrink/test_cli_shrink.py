"""`ragkit tune shrink` as it is typed: what it prints, its JSON, its mistakes."""

import json
from pathlib import Path

from tests.commands import run


def test_a_model_is_made_smaller_and_called_unproven(embedders: Path, tmp_path: Path) -> None:
    words = ("tune", "shrink", str(embedders / "WordPiece"), "--vocabulary", "en, zh")
    result = run(*words, "--layers", "2", "--out", "out", folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    first, tokens, layers, training, licence, last, questions = result.stdout.splitlines()
    assert first.startswith("out: 0.1 MB of weights, ")
    assert "tokens remain; a text of these alone has the vectors that it had" in tokens
    assert layers == "Layers 0, 2 of 3 remain."
    assert training == ("Fewer layers change all vectors: train the model again before you use it.")
    assert licence.startswith("WordPiece names no licence")
    assert last == "unproven: ragkit tune prove out --set questions.jsonl"
    assert questions.startswith("questions.jsonl is your own labelled set")
    result = run(*words, "--out", "again", "--json", folder=tmp_path)
    assert json.loads(result.stdout)["settings"] == {"vocabulary": "en,zh"}


def test_mistakes_are_one_line_with_the_exit_code_of_misuse(
    embedders: Path, tmp_path: Path
) -> None:
    for words, reason in (
        ((), "nothing to make smaller: name --vocabulary"),
        (("--layers", "1", "--which", "middle"), "--which middle is unknown: choose one of even"),
        (("--magnitude", ".3", "--scope", "all"), "--scope all is unknown: choose one of global"),
        (("--vocabulary", "klingon"), "--vocabulary 'klingon' is no known language"),
    ):
        model = str(embedders / "WordPiece")
        result = run("tune", "shrink", model, "--out", "out", *words, folder=tmp_path)
        assert (result.returncode, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert reason in line
