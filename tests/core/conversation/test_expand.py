"""Which questions are taken for follow-ups without a model, and what is added to them."""

import pytest

from ragkit.conversation.expand import MAX_ADDED, follows_on, standalone


@pytest.mark.parametrize(
    "question",
    [
        "And in Dublin?",
        "What about part-time employees?",
        "How long does it last?",
        "Who pays for them?",
        "Does that need a receipt?",
        "Why?",
        "What is its weight?",
        "那上海呢？",
        "病假呢？",
        "它的费用是多少？",
        "这个要提前几天申请？",
        "还有其他要求吗？",
        "为什么？",
    ],
)
def test_leans_on_the_question_before(question: str) -> None:
    assert follows_on(question)


@pytest.mark.parametrize(
    "question",
    [
        "How many days of annual leave do full-time employees in Galway have?",
        "Is there a gym at the factory?",
        "What happens when the gauge loses its connection during a storm?",
        "Who were the first owners of the company and what did they do?",
        "When is the fire alarm tested?",
        "国内航班乘坐什么舱？",
        "标定实验室的温度要求是多少？",
        "员工每年有几天全薪病假？",
        "一线城市2026年每晚的住宿限额是多少？",
    ],
)
def test_stands_alone_and_is_left_as_it_is(question: str) -> None:
    assert not follows_on(question)
    assert standalone(question, "What does the RL-400 weigh? 水位计多重？") == question


@pytest.mark.parametrize(
    ("question", "before", "expanded"),
    [
        (
            "And in Dublin?",
            "What is the hotel limit in London?",
            "And in Dublin? (hotel limit London)",
        ),
        ("那上海呢？", "北京的住宿限额是多少？", "那上海呢？ (北京 住宿限额)"),
        ("那RL-200呢？", "How heavy is the RL-400?", "那RL-200呢？ (heavy 400)"),
        ("And in Dublin?", "北京的住宿限额是多少？", "And in Dublin?"),
        ("And the limit?", "What is the limit?", "And the limit?"),
        ("？！", "What is the limit?", "？！"),
        ("Why?", "", "Why?"),
    ],
)
def test_what_is_added(question: str, before: str, expanded: str) -> None:
    assert standalone(question, before) == expanded


def test_a_long_chain_of_follow_ups_does_not_grow_for_ever() -> None:
    query = "What is the hotel limit in London?"
    for n in range(50):
        query = standalone(f"And in place{n}?", query)
    assert len(query.split()) <= 3 + MAX_ADDED
