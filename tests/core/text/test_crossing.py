"""Questions in one language about documents in another: counted, and said with what is known."""

import pytest

from ragkit.embed.models import model_card
from ragkit.text.other_language import Asked, crossing_note, languages_of

ENGLISH = [
    "How many days of paid holiday does an employee have?",
    "Where is the mill of the valley?",
    "Who sells honey?",  # too short to tell by itself
]
CHINESE = ["员工每年有多少天年假？", "灯塔建于哪一年？"]


def note(questions: list[str], documents: list[str], model: str = "all-MiniLM-L6-v2") -> str:
    asked = [Asked(one, documents) for one in questions]
    return crossing_note(asked, documents, model=model, reads=model_card(model).reads)


def test_short_questions_are_in_the_language_of_the_others() -> None:
    assert languages_of([*ENGLISH, *CHINESE]) == ["en", "en", "en", "zh", "zh"]
    assert languages_of(["Honey?"]) == [""]
    assert languages_of([]) == []


@pytest.mark.parametrize(
    ("questions", "documents", "said"),
    [
        (
            ENGLISH,
            ["zh"] * 8,
            "3 of 3 questions are asked in another language than that of the documents: 3 in"
            " English of documents in Chinese (the collection has 0 in English, 8 in Chinese).",
        ),
        (
            CHINESE,
            ["en"] * 7 + [""],
            "2 of 2 questions are asked in another language than that of the documents: 2 in"
            " Chinese of documents in English (the collection has 7 in English, 0 in Chinese).",
        ),
    ],
)
def test_the_other_language_is_said_with_counts(
    questions: list[str], documents: list[str], said: str
) -> None:
    told = note(questions, documents)
    assert told.startswith(said)
    assert "The embedding model all-MiniLM-L6-v2 was not trained for all of these" in told
    assert "\n" not in told


@pytest.mark.parametrize("documents", [["zh", "en"], ["en"], [], ["", ""], ["", "zh"]])
def test_nothing_is_said_where_the_language_is_there_or_unknown(documents: list[str]) -> None:
    assert note(ENGLISH, documents) == ""


def test_what_is_known_of_the_model_is_said() -> None:
    assert "model acme/any reads across languages is not known" in note(CHINESE, ["en"], "acme/any")
    assert "model BAAI/bge-m3 reads across languages is not known" in note(
        CHINESE, ["en"], "BAAI/bge-m3"
    )
    assert "Words are searched as they stand" in note(CHINESE, ["en"], "")
