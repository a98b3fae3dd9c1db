"""Answers in their question's language."""

import pytest

from ragkit_eval.answers import language_match

ENGLISH = "How many days of leave does an employee have?"
CHINESE = "员工每年有几天年假?"


@pytest.mark.parametrize(
    ("question", "text", "matches"),
    [
        (ENGLISH, "An employee has 25 days of leave [1].", True),
        (ENGLISH, "员工每年享有二十五天年假[1]。", False),
        (ENGLISH, "25", True),
        (ENGLISH, "The leave (年假) is 25 days.", True),
        (CHINESE, "员工每年享有二十五天年假[1]。", True),
        (CHINESE, "二十五天", True),
        (CHINESE, "25", True),
        (CHINESE, "Docker Desktop [1]", True),
        (CHINESE, "An employee has 25 days of leave [1].", False),
        (CHINESE, "Twenty-five days each calendar year", False),
        (CHINESE, "用Docker部署即可。", True),
        (CHINESE, "社員には二十五日の休暇があります。", False),
        ("休暇は何日ですか?", "社員には二十五日の休暇があります。", True),
        ("休暇は何日ですか?", "二十五日", True),
        (CHINESE, "使用 BM25 和 TF-IDF 以及 GPT, RAG, LLM, PDF", True),
        ("BM25 和 TF-IDF, RAG, LLM, GPT 哪个好?", "BM25 is better than TF-IDF in the end", False),
        (CHINESE, "", True),
        (ENGLISH, "[1]", True),
        ("", "25 days", True),
    ],
)
def test_the_answers_language_is_the_questions(question: str, text: str, matches: bool) -> None:
    assert language_match(question, text) is matches
