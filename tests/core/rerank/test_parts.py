"""Passages scored in parts, in batches: which texts are scored together, and whose score it is."""

from ragkit.embed.find import find_model
from ragkit.embed.tokens import load_tokens
from ragkit.rerank.parts import score_in_parts


def test_parts_are_scored_by_length_and_the_best_one_counts() -> None:
    seen: list[list[str]] = []

    def score(pieces: list[str]) -> list[float]:
        seen.append(pieces)
        return [float(piece.count("yes")) for piece in pieces]

    tokens = load_tokens(find_model("all-MiniLM-L6-v2").folder)
    passages = ["no no no no yes no", "", "yes yes", "no"]
    found = score_in_parts(passages, tokens, score, room=4, query_tokens=1, batch_tokens=6)
    assert found == [1.0, 0.0, 2.0, 0.0]
    assert seen == [["no no no no "], ["yes no", "yes yes"], ["no", ""]]


def test_no_passage_is_no_batch() -> None:
    tokens = load_tokens(find_model("all-MiniLM-L6-v2").folder)
    assert score_in_parts([], tokens, lambda _: [], room=4, query_tokens=1, batch_tokens=6) == []
