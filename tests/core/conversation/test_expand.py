"""What is added to a follow-up without a model: the content words of the question before."""

import pytest

from ragkit.question.follow_up_words import MAX_ADDED, add_words


@pytest.mark.parametrize(
    ("question", "before", "query"),
    [
        (
            "And in Dublin?",
            "What is the hotel limit in London?",
            "And in Dublin? (hotel limit London)",
        ),
        ("那上海呢？", "北京的住宿限额是多少？", "那上海呢？ (北京 住宿限额)"),
        ("那上海呢？", "臺北的住宿費限額是多少？", "那上海呢？ (臺北 住宿費限額)"),
        ("那臺北呢？", "台北的住宿费限额是多少？", "那臺北呢？ (住宿费限额)"),
        ("那RL-200呢？", "How heavy is the RL-400?", "那RL-200呢？ (heavy 400)"),
        ("And in Dublin?", "北京的住宿限额是多少？", "And in Dublin?"),
        ("And the limit?", "What is the limit?", "And the limit?"),
        ("？！", "What is the limit?", "？！"),
        ("Why?", "", "Why?"),
    ],
)
def test_what_is_added(question: str, before: str, query: str) -> None:
    assert add_words(question, before) == query


def test_a_long_chain_of_follow_ups_does_not_grow_for_ever() -> None:
    query = "What is the hotel limit in London?"
    for n in range(50):
        query = add_words(f"And in place{n}?", query)
    assert len(query.split()) <= 3 + MAX_ADDED
