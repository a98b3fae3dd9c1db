"""The card in plain words: what a small test shows, and who wrote the questions."""

from typing import Any

import pytest

from ragkit_tune.data.card import describe_card, power_line

QUARTILES = {"least": 5, "quarter": 7, "half": 9, "three_quarters": 12, "most": 40}


def card(**changes: Any) -> dict[str, Any]:
    return {
        "collection": "handbook",
        "model": "m",
        "seed": 3,
        "hash": "abc",
        "written_by": "",
        "review": 0,
        "counts": {"train": 300, "dev": 40, "test": 120},
        "clusters": {"all": 30, "documents": 33, "train": 20, "dev": 3, "test": 7},
        "how": {"headings": 400, "asked": 60},
        "left_out": {},
        "faults": 0,
        "negatives_refused": {},
        "detectable": {"questions": 120, "ndcg@10": 0.028, "formula": "F"},
        "private": "Take care.",
        "quality": {
            "query_tokens": QUARTILES,
            "positive_tokens": QUARTILES,
            "max_tokens": 256,
            "truncated": 0,
            "answers_cut": 0,
            "repetition": 0.012,
            "languages": {"en": 300, "zh": 160},
            "negatives_a_row": 2.5,
        },
    } | changes


@pytest.mark.parametrize(
    ("questions", "clusters", "start"),
    [
        (120, 7, ""),
        (50, 7, "50 questions to test by show a difference of about 0.04 in nDCG@10 (how well"),
        (120, 3, "The questions to test by are about only 3 documents (near copies count as one)."),
    ],
)
def test_a_small_test_says_what_it_can_show(questions: int, clusters: int, start: str) -> None:
    described = card(
        detectable={"questions": questions, "ndcg@10": 0.044, "formula": "F"},
        clusters={**card()["clusters"], "test": clusters},
    )
    line = power_line(described)
    assert line.startswith(start)
    assert bool(line) is bool(start)


def test_the_words_name_the_writer_the_cut_and_the_faults() -> None:
    words = "\n".join(
        describe_card(
            card(
                written_by="qwen",
                review=4,
                faults=2,
                left_out={
                    "a sentence with a gap is no question to test by": 9,
                    "the question is blank": 2,
                },
                quality={**card()["quality"], "truncated": 8, "answers_cut": 3},
            )
        )
    )
    assert "Written by the model qwen: see whether its terms allow you to train on" in words
    assert "8 rows have a passage of more than 256 tokens" in words
    assert "In 3 of them the answer stands in that rest" in words
    assert "4 rows may have a wrong passage" in words
    assert "correct or remove the question in your set" in words
    wrong, fine = "because something is wrong with them", "though nothing is wrong with them"
    assert f"2 rows were left out {wrong}:\n  - 2: the question is blank\n" in words
    assert (
        f"9 rows were left out {fine}:\n  - 9: a sentence with a gap is no question to test by\n"
        in words
    )
    assert "33, of which near copies count as one, so 30." in words
    assert "The test is large enough" in words
    assert words.endswith("- Take care.")


def test_the_words_are_short_where_nothing_happened() -> None:
    quality = {**card()["quality"], "truncated": 8}
    words = "\n".join(describe_card(card(quality=quality)))
    assert "the answer stands there" not in words
    assert "Nothing was left out" in words
    assert "Written by" not in words
    assert "wrong passage:" not in words
    assert "not taken" not in words


def test_what_was_not_taken_has_a_line_each_and_no_copies_are_spoken_of_without_any() -> None:
    clusters = {**card()["clusters"], "all": 33}
    refused = {"in another language": 701, "it answers too": 2}
    words = "\n".join(describe_card(card(negatives_refused=refused, clusters=clusters)))
    assert "as wrong ones:\n  - 701: in another language\n  - 2: it answers too\n" in words
    assert "Documents: 33, none of them nearly a copy of another." in words
