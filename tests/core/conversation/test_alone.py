"""Which questions stand alone, which cannot, and which may have left something out."""

import pytest

from ragkit.question.naming_words import count_naming_words
from ragkit.question.standalone import follows_on, may_follow, opens_as_follow_up, surely_alone

COMPLETE = [
    "How much is the rent?",
    "Who is the caretaker?",
    "What if the airline goes bankrupt?",
    "How long does it take to reset a password?",
    "What are the opening hours this week?",
    "rent",
    "full plot price",
    "How many days of annual leave do full-time employees in Galway have?",
    "Is there a gym at the factory?",
    "What happens when the gauge loses its connection during a storm?",
    "Who were the first owners of the company and what did they do?",
    "When is the fire alarm tested?",
    "租金多少？",
    "押金多少",
    "整机保修几年？",
    "总预算是多少？",
    "怎么请假？",
    "租約什麼時候到期？",
    "站点那儿没信号怎么办",
    "隐面龙这个名字是谁起的？",
    "火焰为什么是蓝色的呢？",
    "国内航班乘坐什么舱？",
    "标定实验室的温度要求是多少？",
    "员工每年有几天全薪病假？",
    "一线城市2026年每晚的住宿限额是多少？",
    "巴吞他尼府建于哪一年？",
]


@pytest.mark.parametrize(
    "question",
    [
        "And in Dublin?",
        "in Dublin?",
        "for tenants?",
        "What about part-time employees?",
        "How long does it last?",
        "Who pays for them?",
        "Does that need a receipt?",
        "Does each page at night bring anything on top of that?",
        "What is the notice period during it?",
        "Why?",
        "how much?",
        "How do I cancel?",
        "What is its weight?",
        "那上海呢？",
        "病假呢？",
        "它的费用是多少？",
        "她手机号多少",
        "这个要提前几天申请？",
        "还有其他要求吗？",
        "为什么？",
        "多少钱？",
        "多久？",
        "保存多长时间？",
        "什麼時候開始？",
        "要等几天？",
    ],
)
def test_leans_on_the_question_before(question: str) -> None:
    assert follows_on(question)
    assert not surely_alone(question)


@pytest.mark.parametrize("question", COMPLETE)
def test_stands_alone(question: str) -> None:
    assert not follows_on(question)


@pytest.mark.parametrize(
    ("question", "opens"),
    [
        ("And in Dublin?", True),
        ("in 2025?", True),
        ("In which year was it founded?", False),
        ("Why?", False),
        ("那上海呢？", True),
        ("病假呢？", True),
        ("它的费用是多少？", False),
    ],
)
def test_says_by_its_form_that_it_goes_on(question: str, opens: bool) -> None:
    assert opens_as_follow_up(question) == opens


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How long?", 0),
        ("How much is the rent?", 1),
        ("Who pays for broken windows?", 3),
        ("", 0),
        ("？！", 0),
        ("多少钱？", 0),
        ("租金多少？", 0.5),
        ("押金多少？", 1),
        ("RL-400有多重？", 2),
    ],
)
def test_words_that_name_something_are_counted(question: str, count: float) -> None:
    assert count_naming_words(question) == count


@pytest.mark.parametrize(
    ("question", "may", "surely"),
    [
        ("Is breakfast included?", True, False),
        ("How much is the rent?", True, False),
        ("Who pays for broken windows?", False, True),
        ("When does the ceilidh band practise?", False, True),
        ("包早餐吗？", True, False),
        ("谁付窗户的维修费？", False, False),
        ("跃动健身馆的泳池周一几点恢复开放？", False, True),
    ],
)
def test_only_a_question_that_names_little_may_have_left_something_out(
    question: str, may: bool, surely: bool
) -> None:
    assert (may_follow(question), surely_alone(question)) == (may, surely)
