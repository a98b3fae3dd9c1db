"""Answers by quoted sentences over collections as small as people's first ones.

Whatever is asked of whatever documents: every sentence of an answer has its marker, every marker
its source, every source stands word for word in its document, and nothing is called unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.answer.check.verify import Verified, verify
from ragkit.answer.refuse.gate import Decision
from ragkit.answer.write.drafting import draft_answer
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.text.markers import find_markers, split_statements
from ragkit.types import Draft, Hit

LEASE = (
    "The rent is 900 euros a month. The lease ends on 31 May 2027. Pets are allowed with the"
    " landlord's consent."
)
LEASE_HANS = "月租金为900元。租约于2027年5月31日到期。经房东同意可以养宠物。"
LEASE_HANT = "月租金為900元。租約於2027年5月31日到期。經房東同意可以養寵物。"

FACTS_EN = (
    "The rent is 900 euros a month.",
    "**Deposit:** two months' rent, paid to Ann Lee.",
    "Staff may park *behind* the building; see [the plan](https://example.org/plan).",
    "Is smoking allowed? No, not anywhere.",
    "Dr. Lee said: “Call 555-0142 first.” [3] Then he left.",
    "The code is `A_1`, and 2**3 is 8.",
    "> Quoted rules apply to all pets.",
)
FACTS_ZH = (
    "月租金为900元，每月1日支付。",
    "**押金：**两个月租金，退租时退还。",
    "员工可以把车停在*楼后*，见[平面图](https://example.org/plan)。",
    "可以抽烟吗？任何地方都不可以。",
    "李医生说：“请先拨打555-0142。”然后他走了【3】。",
    "病假工资按基本工资的80%发放。",
    "> 所有宠物都适用引用的规定。",
)
BLOCKS_EN = (
    "# Leave\n\nStaff get 25 days of leave a year.",
    "**How do I reset my password?**\nOpen the page. Click the link.",
    "## Who do I call?\n\nCall Ann on 4711.",
    "To reset the machine:\n\n1. Hold the **green** button.\n2. Wait for 5 seconds.\n   Do not move"
    " it.\n3. Let go.",
    "Bring:\n- a coat\n- two pens\n- your badge",
    "| Name | Extension | Mail |\n| --- | --- | --- |\n| **Li Wei** | 4711 | li@example.org |\n"
    "| Ann Lee | 4712 | |",
    "Phone: 555-0142\nMail: office@example.org\nHours: Monday to Friday, 9:00 to 17:00",
    "## Training\n\n**When do you train?** The juniors on Friday. All others on Monday.",
)
BLOCKS_ZH = (
    "# 请假\n\n员工每年有25天年假。",
    "**如何重置密码？**\n打开页面，点击链接。",
    "## 找谁修电脑？\n\n请拨打分机4711。",
    "重置机器的步骤：\n\n1. 按住**绿色**按钮。\n2. 等待5秒。\n3. 松开。",
    "请携带：\n- 外套\n- 两支笔\n- 工牌",
    "| 姓名 | 分机 | 邮箱 |\n| --- | --- | --- |\n"
    "| **李伟** | 4711 | li@example.org |\n"
    "| 王芳 | 4712 | |",
    "电话：555-0142\n邮箱：office@example.org\n时间：周一至周五9:00到17:00",
)
QUESTIONS_EN = (
    "How much is the rent?",
    "What is Li Wei's extension?",
    "How do I reset the machine?",
    "how do i reset my password",
    "What should I bring?",
    'Is the building "dog friendly"?',
    "Who is Ann Lee?",
    "When are you open?",
    "Where may staff park?",
    "leave days",
    "smoking -anywhere",
    "What is the code?",
    "What do I need to pack for the training?",
)
QUESTIONS_ZH = (
    "租金多少钱？",
    "李伟的分机是多少？",
    "怎么重置机器？",
    "如何重置密码",
    "要带什么？",
    "《员工手册》里“病假工资”怎么算？",
    "王芳是谁？",
    "几点开门",
    "车停哪里",
    "年假几天",
    "抽烟",
    "押金什么时候退？",
)


def hits_of(texts: Sequence[str], cuts: Sequence[int] = ()) -> list[Hit]:
    """Make the passages of documents: whole ones, and pieces that overlap by half."""
    hits = []
    for document, text in enumerate(texts, 1):
        middle = cuts[document % len(cuts)] % len(text) if cuts else 0
        spans = (
            {(0, len(text)), (0, middle), (middle // 2, len(text))} if middle else {(0, len(text))}
        )
        for start, end in sorted(span for span in spans if text[span[0] : span[1]].strip()):
            chunk = document * 1000 + start
            part = text[start:end]
            hits.append(Hit(document, chunk, f"{document}.md", "", None, start, end, part, 1.0))
    return hits


def answered(question: str, texts: Sequence[str], hits: Sequence[Hit]) -> tuple[Draft, Verified]:
    """Draft an answer as a knowledge base does, and check it against the texts."""
    *_, draft = draft_answer(ExtractiveGenerator(), Decision(""), question, hits)
    assert isinstance(draft, Draft)
    return draft, verify(draft, lambda document: texts[document - 1], hits)


def check(draft: Draft, verified: Verified, texts: Sequence[str]) -> None:
    """Assert what holds of every answer by quoted sentences."""
    if draft.refused:
        assert (draft.citations, verified.claims) == ((), ())
        return
    assert draft.citations
    cited = [number for marker in find_markers(draft.text) for number in marker.numbers]
    assert cited == [citation.n for citation in draft.citations] == [*range(1, len(cited) + 1)]
    assert all(statement.cites for statement in split_statements(draft.text)[-1:])
    for citation in verified.citations:
        assert texts[citation.document - 1][citation.start : citation.end] == citation.quote
        assert citation.verdict == "verified"
    places = sorted((c.document, c.start, c.end) for c in verified.citations)
    assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(places)), "it is quoted twice"
    assert verified.unverified == ()
    assert verified.claims
    assert {claim.support for claim in verified.claims} == {"quoted"}, draft.text
    assert all(claim.cites for claim in verified.claims)
    assert not re.search(
        r"(?<!\d)\*\*|^#|^\s*\|(?!\|)|\]\(|(?<![A-Za-z0-9])__", draft.text, re.MULTILINE
    ), draft.text


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (LEASE, "When does the lease end?", "The lease ends on 31 May 2027. [1]"),
        (LEASE, "How much is the rent?", "The rent is 900 euros a month. [1]"),
        (LEASE_HANS, "租约什么时候到期？", "租约于2027年5月31日到期。 [1]"),
        (LEASE_HANT, "租約什麼時候到期？", "租約於2027年5月31日到期。 [1]"),
    ],
)
def test_a_file_of_three_sentences_is_answered_by_one(
    text: str, question: str, answer: str
) -> None:
    draft, verified = answered(question, [text], hits_of([text]))
    assert draft.text == answer
    check(draft, verified, [text])


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (LEASE, "Tell me about the rent, the pets and the lease"),
        (LEASE_HANS, "租金、宠物和租约的规定有哪些"),
        ("病假工资按基本工资的80%发放。迟到每次扣50元。", "病假工资怎么算，迟到扣多少？"),
    ],
)
def test_two_sentences_of_one_passage_keep_their_markers(text: str, question: str) -> None:
    """Markers count quotations, of which one passage may give two."""
    draft, verified = answered(question, [text], hits_of([text]))
    assert [citation.n for citation in draft.citations] == [1, 2]
    check(draft, verified, [text])


def collections(facts: Sequence[str], blocks: Sequence[str]) -> st.SearchStrategy[list[str]]:
    paragraph = st.lists(st.sampled_from(facts), min_size=1, max_size=4).map(" ".join)
    parts = st.lists(st.one_of(paragraph, st.sampled_from(blocks)), min_size=1, max_size=4)
    return st.lists(parts.map("\n\n".join), min_size=1, max_size=3)


@given(
    texts=collections(FACTS_EN, BLOCKS_EN),
    question=st.sampled_from(QUESTIONS_EN),
    cuts=st.lists(st.integers(1, 400), max_size=2),
)
@settings(deadline=None, max_examples=300)
def test_every_english_answer_is_its_sources_words(
    texts: list[str], question: str, cuts: list[int]
) -> None:
    draft, verified = answered(question, texts, hits_of(texts, cuts))
    check(draft, verified, texts)


def test_rows_that_are_quoted_together_are_quoted() -> None:
    """A table with an empty cell, whose rows are one citation."""
    texts = [f"# Leave\n\nStaff get 25 days of leave a year.\n\n{BLOCKS_EN[5]}", BLOCKS_EN[4]]
    draft, verified = answered("What should I bring?", texts, hits_of(texts, [10]))
    check(draft, verified, texts)
    assert draft.text.count("Name:") == 2


@given(
    texts=collections(FACTS_ZH, BLOCKS_ZH),
    question=st.sampled_from(QUESTIONS_ZH),
    cuts=st.lists(st.integers(1, 200), max_size=2),
)
@settings(deadline=None, max_examples=300)
def test_every_chinese_answer_is_its_sources_words(
    texts: list[str], question: str, cuts: list[int]
) -> None:
    draft, verified = answered(question, texts, hits_of(texts, cuts))
    check(draft, verified, texts)


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (BLOCKS_EN[1], "How do I reset my password?", "Open the page. Click the link. [1]"),
        (
            BLOCKS_EN[3],
            "How do I reset the machine?",
            "To reset the machine:\n1. Hold the green button.\n2. Wait for 5 seconds. Do not move"
            " it.\n3. Let go. [1]",
        ),
        (BLOCKS_EN[4], "What should I bring?", "Bring:\n- a coat\n- two pens\n- your badge [1]"),
        (
            BLOCKS_EN[5],
            "What is Li Wei's extension?",
            "Name: Li Wei; Extension: 4711; Mail: li@example.org [1]",
        ),
        (BLOCKS_EN[6], "What is the phone number?", "Phone: 555-0142 [1]"),
        (
            FACTS_EN[1],
            "How much is the deposit?",
            "Deposit: two months' rent, paid to Ann Lee. [1]",
        ),
        (
            BLOCKS_ZH[3],
            "怎么重置机器？",
            "重置机器的步骤：\n1. 按住绿色按钮。\n2. 等待5秒。\n3. 松开。 [1]",
        ),
        (BLOCKS_ZH[5], "李伟的分机是多少？", "姓名：李伟；分机：4711；邮箱：li@example.org [1]"),
        (BLOCKS_ZH[1], "如何重置密码？", "打开页面，点击链接。 [1]"),
        (
            "**Can I watch the training?**\nYes, from the gallery. Parents may not come to the"
            " pool.",
            "May parents watch?",
            "Yes, from the gallery. Parents may not come to the pool. [1]",
        ),
        (
            "**小孩能自己去吗？**\n不可以。12岁以下的儿童必须有成年人陪同。",
            "9岁小孩能自己去不？",
            "不可以。12岁以下的儿童必须有成年人陪同。 [1]",
        ),
        (
            "换滤芯：\n1. 拧下旧滤芯，看是否漏水。\n2. 装上新滤芯，看接口是否漏水。\n3. 等10分钟。",
            "新滤芯装好了还漏水是为什么？",
            "装上新滤芯，看接口是否漏水。 [1]",
        ),
        (
            "- **Flat loaf:** the dough stood too long. Shorten the last rise.\n- **Sour:** fine.",
            "why is my loaf flat",
            "Flat loaf: the dough stood too long. Shorten the last rise. [1]",
        ),
        (
            "二、充电桩\n邓凯汇报，推迟到11月再议。\n三、快递柜\n东门快递柜每晚有噪音。",
            "快递柜有什么问题",
            "东门快递柜每晚有噪音。 [1]",
        ),
        (
            "5. Waiting list\nThere are 17 people.\n\n6. Bonfires\nBonfires remain forbidden.",
            "bonfires",
            "Bonfires remain forbidden. [1]",
        ),
        (BLOCKS_ZH[6], "电话是多少？", "电话：555-0142 [1]"),
        (FACTS_ZH[1], "押金多少？", "押金：两个月租金，退租时退还。 [1]"),
    ],
)
def test_an_answer_reads_as_text(text: str, question: str, answer: str) -> None:
    draft, verified = answered(question, [text], hits_of([text]))
    assert draft.text == answer
    check(draft, verified, [text])


@pytest.mark.parametrize(
    ("sentences", "question", "answer"),
    [
        (
            "Tesla Q2 2020 revenue. Tesla made 6.04 billion dollars in the second quarter of 2020.",
            "What was Tesla's Q2 2020 revenue?",
            "Tesla made 6.04 billion dollars in the second quarter of 2020.",
        ),
        (
            "The sales of 2019 were 4 million euros. The sales of 2021 were 7 million euros.",
            "What were the sales in 2021?",
            "The sales of 2021 were 7 million euros.",
        ),
        (
            "The puffin is a sea bird. It is also known as the sea parrot. The gull is larger.",
            "What is the puffin also known as?",
            "It is also known as the sea parrot.",
        ),
        (
            "2019年销售额为400万元。2021年销售额为700万元。",
            "2021年销售额是多少？",
            "2021年销售额为700万元。",
        ),
        (
            "海鹦是一种小型海鸟。它又称为海鹦鹉。海鸥体型更大。",
            "海鹦又称为什么？",
            "它又称为海鹦鹉。",
        ),
    ],
)
def test_the_sentence_that_answers_is_preferred(sentences: str, question: str, answer: str) -> None:
    draft, _ = answered(question, [sentences], hits_of([sentences]))
    assert draft.citations[0].quote == answer


@pytest.mark.parametrize(
    ("text", "question", "row"),
    [
        (BLOCKS_EN[5], "Ann Lee email", "Name: Ann Lee; Extension: 4712"),
        (BLOCKS_ZH[5], "王芳分机", "姓名：王芳；分机：4712"),
    ],
)
def test_a_row_far_below_its_head_is_given_with_its_columns(
    text: str, question: str, row: str
) -> None:
    """The passage begins within the table; its lead is the table's head row."""
    head, _, rest = text.partition("\n")
    start = text.index("| Ann") if "| Ann" in text else text.index("| 王")
    part = text[start:]
    hit = Hit(1, 1, "1.md", "", None, start, len(text), part, 1.0, lead=head)
    draft, verified = answered(question, [text], [hit])
    assert rest
    assert draft.text == f"{row} [1]"
    check(draft, verified, [text])
