"""The extractive generator on small literal documents, in English and both Chinese scripts."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.answer.check.verify import verify
from ragkit.answer.meaning import Meaning
from ragkit.answer.write.candidates import MAX_QUOTE_COLUMNS, list_candidates
from ragkit.answer.write.extract import ExtractiveGenerator, pick
from ragkit.contracts import Generator
from ragkit.embed import bundled
from ragkit.question.answer_kinds import (
    Kind,
    demanded_kind,
    expected_kinds,
    has_answer,
    may_answer,
)
from ragkit.question.reading import is_traditional, read_question
from ragkit.types import Draft, Hit, Turn

BRIDGE = (
    "# The Harbour Bridge\n\nThe bridge is painted grey. It was opened in 1932 by Jack Lang. "
    "About 160 trains cross it every day. It was built because the ferries were too slow."
)
BRIDGE_HANS = (
    "海港大桥是一座钢铁拱桥。它由约翰·布拉德菲尔德设计，1932年通车。每天约有160列火车通过。"
    "大桥漆成灰色，因为当年只有灰色油漆足够。"
)
BRIDGE_HANT = (
    "海港大橋是一座鋼鐵拱橋。它由約翰·布拉德菲爾德設計，1932年通車。每天約有160列火車通過。"
    "大橋漆成灰色，因為當年只有灰色油漆足夠。"
)
TABLE = (
    "## Fees\n\nWhat each plan costs.\n\n| Plan | Price | Seats |\n| --- | --- | --- |\n"
    "| Basic | 9 euros | 3 |\n| Team | 49 euros | 25 |\n"
)


def hit(
    text: str,
    document: int = 1,
    start: int = 0,
    end: int | None = None,
    headings: tuple[str, ...] = (),
) -> Hit:
    end = len(text) if end is None else end
    return Hit(
        document=document, chunk=document * 100 + start, uri=f"{document}.md", title="", page=7,
        start=start, end=end, text=text[start:end], score=1.0, headings=headings,
    )  # fmt: skip


def answer(question: str, passages: Sequence[Hit]) -> Draft:
    generator: Generator = ExtractiveGenerator()
    *pieces, draft = generator.generate(question, passages)
    assert isinstance(draft, Draft)
    assert "".join(str(piece) for piece in pieces) == draft.text
    return draft


def first(question: str, text: str) -> str:
    return pick(question, [hit(text)], limit=1)[0].candidate.text


@pytest.mark.parametrize(
    ("text", "question", "sentence"),
    [
        (BRIDGE, "When was the bridge opened?", "It was opened in 1932 by Jack Lang."),
        (BRIDGE, "Who opened the bridge?", "It was opened in 1932 by Jack Lang."),
        (BRIDGE, "How many trains cross it?", "About 160 trains cross it every day."),
        (BRIDGE, "Why was the bridge built?", "It was built because the ferries were too slow."),
        (BRIDGE, "what colour is it painted", "The bridge is painted grey."),
        (BRIDGE_HANS, "大桥哪一年通车？", "它由约翰·布拉德菲尔德设计，1932年通车。"),
        (BRIDGE_HANS, "海港大桥是谁设计的？", "它由约翰·布拉德菲尔德设计，1932年通车。"),
        (BRIDGE_HANS, "每天有多少列火车？", "每天约有160列火车通过。"),
        (BRIDGE_HANS, "大桥为什么是灰色的？", "大桥漆成灰色，因为当年只有灰色油漆足够。"),
        (BRIDGE_HANT, "大橋什麼時候通車？", "它由約翰·布拉德菲爾德設計，1932年通車。"),
        (BRIDGE_HANT, "海港大橋是誰設計的？", "它由約翰·布拉德菲爾德設計，1932年通車。"),
        (BRIDGE_HANT, "每天有幾列火車？", "每天約有160列火車通過。"),
        (BRIDGE_HANT, "大橋為何是灰色的？", "大橋漆成灰色，因為當年只有灰色油漆足夠。"),
        (TABLE, "What is the price of the Team plan?", "| Team | 49 euros | 25 |"),
        ("Rules:\n\n- Bring a coat.\n- Lock the door.", "What to lock?", "Lock the door."),
        ("> 1. Pay by Friday.\n> 2. Bring a coat.", "pay when", "Pay by Friday."),
    ],
)
def test_best_sentence(text: str, question: str, sentence: str) -> None:
    assert first(question, text) == sentence


def test_an_answer_numbers_its_sentences_and_quotes_them_exactly() -> None:
    draft = answer("Is the bridge painted, and who opened it?", [hit(BRIDGE)])
    assert draft.text == "It was opened in 1932 by Jack Lang. [1] The bridge is painted grey. [2]"
    assert not draft.refused
    assert [c.n for c in draft.citations] == [1, 2]
    assert [BRIDGE[c.start : c.end] for c in draft.citations] == [c.quote for c in draft.citations]
    assert {(c.document, c.uri, c.page) for c in draft.citations} == {(1, "1.md", 7)}


def test_a_line_break_is_quoted_exactly_and_read_as_a_space() -> None:
    draft = answer("Who leads the choir?", [hit("The choir is\n  led by Ann.")])
    assert draft.text == "The choir is led by Ann. [1]"
    assert draft.citations[0].quote == "The choir is\n  led by Ann."


def test_overlapping_passages_quote_a_sentence_once_and_whole() -> None:
    cut = BRIDGE.index("in 1932")
    passages = [hit(BRIDGE, start=40, end=cut + 20), hit(BRIDGE, start=0, end=cut), hit(BRIDGE)]
    for given_passages in (passages, passages[:2]):
        draft = answer("When was the bridge opened?", given_passages)
        spans = [(c.start, c.end) for c in draft.citations]
        assert len(set(spans)) == len(spans)
        assert all(BRIDGE[c.start : c.end] == c.quote for c in draft.citations)
    assert answer("When was the bridge opened?", passages).citations[0].quote == (
        "It was opened in 1932 by Jack Lang."
    )


def test_two_documents_that_say_the_same_are_quoted_once() -> None:
    draft = answer("大桥为什么漆成灰色，谁设计？", [hit(BRIDGE_HANS), hit(BRIDGE_HANS, document=2)])
    assert len({c.quote for c in draft.citations}) == len(draft.citations) == 2


def test_headings_head_rows_and_rules_are_never_quoted() -> None:
    quotes = {c.text for c in list_candidates([hit(BRIDGE), hit(TABLE, document=2)])}
    assert len(quotes) == 7
    assert not quotes & {"# The Harbour Bridge", "## Fees", "| Plan | Price | Seats |"}


RECIPES = (
    "外婆的菜谱\n\n"
    "【红烧肉】\n材料：五花肉1000克。\n做法：\n"
    "1. 五花肉切块，冷水下锅。\n2. 小火炒糖，放肉翻炒。\n\n"
    "【酸梅汤】\n材料：乌梅50克，水3升。\n做法：材料泡半小时，大火烧开后小火煮40分钟。\n"
)
MINUTES_ZH = (
    "议题一：充电棚\n会议决定建充电棚，预算48000元，由孙大伟负责。\n\n"
    "议题二：垃圾分类\n投放时间为早上6:30到9:00。\n\n"
    "議題三：端午节活动\n上午九点在小广场包粽子。\n"
)


def test_headings_in_brackets_and_numbered_topics_are_headings() -> None:
    quotes = {c.text for c in list_candidates([hit(RECIPES)]) if not c.is_title}
    assert not [quote for quote in quotes if "【" in quote]
    quotes = {c.text for c in list_candidates([hit(MINUTES_ZH)]) if not c.is_title}
    assert len(quotes) == 3
    assert not [quote for quote in quotes if quote.startswith(("议题", "議題"))]
    assert first("正文", "他说【注意】要小心。正文如下。") == "正文如下。"


def test_the_method_of_another_recipe_is_not_quoted() -> None:
    assert "酸梅汤" not in answer("红烧肉怎么做", [hit(RECIPES)]).text
    assert "泡半小时" not in answer("红烧肉怎么做", [hit(RECIPES)]).text
    assert "五花肉" not in answer("酸梅汤怎么做", [hit(RECIPES)]).text


def test_a_topic_is_answered_by_what_stands_below_it() -> None:
    assert first("垃圾分类几点可以扔垃圾", MINUTES_ZH) == "投放时间为早上6:30到9:00。"
    assert first("端午节活动在哪", MINUTES_ZH) == "上午九点在小广场包粽子。"


PRICES = "# Fees\n\n| Plan | Price |\n| --- | --- |\n| Basic | 9 euros |\n| Team | 49 euros |\n"
PRICES_ZH = "# 收费\n\n| 套餐 | 价格 |\n| --- | --- |\n| 基本 | 9元 |\n| 团队 | 49元 |\n"
BOTH_PRICES = "Plan: Basic; Price: 9 euros\nPlan: Team; Price: 49 euros [1]"


@pytest.mark.parametrize(
    ("text", "question", "quoted"),
    [
        (PRICES, "Which plan is the cheapest?", BOTH_PRICES),
        (f"{PRICES}\nA plan can be changed.", "Which plans have prices?", BOTH_PRICES),
        (PRICES, "Is Team the most expensive plan?", BOTH_PRICES),
        (PRICES, "List the price of each plan", BOTH_PRICES),
        (PRICES, "What is the price of Team?", "Plan: Team; Price: 49 euros [1]"),
        (PRICES_ZH, "最便宜的套餐是哪个？", "套餐：基本；价格：9元\n套餐：团队；价格：49元 [1]"),
        (PRICES_ZH, "列出所有价格", "套餐：基本；价格：9元\n套餐：团队；价格：49元 [1]"),
        (PRICES_ZH, "团队套餐的价格是多少？", "套餐：团队；价格：49元 [1]"),
    ],
)
def test_a_small_table_is_quoted_whole_to_compare_or_list_its_rows(
    text: str, question: str, quoted: str
) -> None:
    draft = answer(question, [hit(text)])
    assert draft.text.split("\n\n")[0] == quoted
    assert [text[c.start : c.end] for c in draft.citations] == [c.quote for c in draft.citations]


@pytest.mark.parametrize("day", ["周日", "星期天", "礼拜天", "禮拜日"])
def test_a_day_of_the_week_is_found_by_each_of_its_names(day: str) -> None:
    text = "星期三九点开门。礼拜四八点开门。周日十点开门。"
    assert first(f"{day}几点开门？", text) == "周日十点开门。"


def test_a_row_of_a_large_table_is_quoted_alone() -> None:
    rows = "".join(f"| Plan {number} | {number} euros |\n" for number in range(10, 40))
    draft = answer("Which plan is the cheapest?", [hit(PRICES + rows)])
    assert "\n" not in draft.text.split("\n\n")[0]


def test_what_the_last_answer_quoted_is_not_added_again() -> None:
    passage = hit("Paper goes to the grey bin. Glass goes to the container.")
    question = "And the glass? (where paper goes)"
    first, second = (citation.quote for citation in answer(question, [passage]).citations)
    last = Turn("Where does paper go?", f"{second} [1]")
    *_, draft = ExtractiveGenerator().generate(question, [passage], history=[last])
    assert isinstance(draft, Draft)
    assert draft.text == f"{first} [1]"


def test_a_heading_tells_two_like_sentences_apart() -> None:
    north = hit("The gate opens at nine.", document=1, headings=("North Tower",))
    south = hit("The gate opens at eight.", document=2, headings=("South Tower",))
    best = pick("When does the gate of the South Tower open?", [north, south], limit=1)[0]
    assert best.candidate.text == "The gate opens at eight."


def test_a_whole_sentence_goes_before_one_that_an_edge_cuts() -> None:
    cut = hit("The mill closed in 1950 after a", document=1)
    whole = hit("The mill closed in 1950.", document=2)
    found = list_candidates([cut, whole])
    assert [candidate.complete for candidate in found] == [False, True]
    chopped = list_candidates([hit("We saw the mill and the pond.", start=7)])
    assert [(candidate.text, candidate.complete) for candidate in chopped] == [
        ("the mill and the pond.", False)
    ]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("第九区有九座桥，" * 100 + "都很旧。", MAX_QUOTE_COLUMNS // 2),
        ("District nine has nine bridges, " * 50 + "all old.", MAX_QUOTE_COLUMNS),
        ("x" * 3000 + ".", MAX_QUOTE_COLUMNS),
    ],
)
def test_a_very_long_sentence_is_cut_at_a_clause(text: str, limit: int) -> None:
    pieces = list_candidates([hit(text)])
    assert max(len(piece.text) for piece in pieces) <= limit
    assert all(piece.text[-1] in "，。,.x" for piece in pieces)
    assert "".join(piece.text for piece in pieces).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Who owns the moon?", "The sources do not answer this question."),
        ("月亮属于谁？", "所给资料无法回答这个问题。"),
        ("月亮屬於誰？", "所給資料無法回答這個問題。"),
    ],
)
def test_refuses_in_the_question_s_language(question: str, statement: str) -> None:
    for passages in ([], [hit(BRIDGE), hit(BRIDGE_HANS, document=2), hit(BRIDGE_HANT, document=3)]):
        draft = answer(question, passages)
        assert (draft.text, draft.refused, draft.citations) == (statement, True, ())


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (
            "Who owns the moon?",
            "Nothing that was found in the documents mentions “owns” or “moon”.",
        ),
        ("who is it?", "The question has no word to look for."),
        ("", "The question has no word to look for."),
        ("谁发明了电灯泡？", "在文档中找到的内容都没有提到“发明”或“电灯泡”。"),
        ("誰發明了電燈泡？", "在文件中找到的內容都沒有提到“發明”或“電燈泡”。"),
        ("首席执行官办公室的地址？", "在文档中找到的内容都没有提到“首席执行官办公室”或“地址”。"),
        (
            "Which bridge in Lisbon collapsed during the 1755 earthquake?",
            "Nothing that was found in the documents mentions “Lisbon”, “collapsed”, “during” or"
            " “1755”.",
        ),
    ],
)
def test_a_refusal_says_why(question: str, reason: str) -> None:
    assert answer(question, [hit(BRIDGE), hit(BRIDGE_HANS, document=2)]).reason == reason


@pytest.mark.parametrize(
    ("question", "passage", "reason"),
    [
        ("图书馆有咖啡厅吗？", BRIDGE, "在文档中找到的内容似乎都没有回答这个问题。"),
        (
            "Who invented the light bulb?",
            BRIDGE_HANS,
            "Nothing that was found in the documents seems to answer the question.",
        ),
        ("星期天开门吗？", BRIDGE_HANS, "在文档中找到的内容都没有提到“星期天开门”。"),
    ],
)
def test_a_refusal_names_no_words_that_another_language_cannot_have(
    question: str, passage: str, reason: str
) -> None:
    """And words are named as they were typed: a day of the week has several names."""
    assert answer(question, [hit(passage)]).reason == reason


def test_a_refusal_goes_by_what_terms_weigh_in_the_collection() -> None:
    """Some of the words are there, but not the ones that the question is about."""
    passage = hit("The company gives lunch to all. The company was founded in 1998.")
    question = "How much does the company give for dental treatment?"
    rare = {"dental": 5.0, "treatment": 5.0}

    def weigh(terms: Collection[str]) -> dict[str, float]:
        return {term: rare.get(term, 0.5) for term in terms}

    *_, draft = ExtractiveGenerator(weigh).generate(question, [passage])
    assert isinstance(draft, Draft)
    assert draft.refused
    assert "“dental” or “treatment”" in draft.reason
    assert not answer(question, [passage]).refused


def test_no_passage_is_a_reason_of_its_own() -> None:
    assert answer("When was the bridge opened?", []).reason == (
        "Nothing was found in the documents."
    )


@given(
    st.text(alphabet="桥谁几when 1932？?", max_size=20),
    st.text(alphabet="桥1932灰 ab.。，|-#\n", min_size=1, max_size=120),
    st.lists(st.tuples(st.integers(0, 120), st.integers(1, 80)), min_size=1, max_size=5),
)
@settings(deadline=None)
def test_quotations_are_exact_for_any_text_and_passages(
    question: str, text: str, cuts: list[tuple[int, int]]
) -> None:
    spans = {(min(a, len(text) - 1), min(min(a, len(text) - 1) + n, len(text))) for a, n in cuts}
    passages = [hit(text, start=start, end=end) for start, end in sorted(spans)]
    draft = answer(question, passages)
    assert len(draft.citations) <= 2
    assert draft.refused == (not draft.citations)
    for citation in draft.citations:
        assert text[citation.start : citation.end] == citation.quote != ""
    checked = verify(draft, lambda _: text, passages)
    assert all(citation.verdict == "verified" for citation in checked.citations)


def test_what_a_question_expects() -> None:
    assert expected_kinds("他在哪一年出生？") == expected_kinds("他在什麼時候出生？") == {"when"}
    assert expected_kinds("How many died, and who?") == {"count", "who"}
    assert expected_kinds("Describe it.") == frozenset()
    assert not has_answer("In 1932 it opened.", expected_kinds("When in 1932?"), "When in 1932?")


@pytest.mark.parametrize(
    ("kind", "questions"),
    [
        ("money", ("How much is a cake?", "price of a cake?", "What does a stall cost?")),
        (
            "money",
            ("蛋糕多少钱", "押金要交多少？", "費用是多少？", "票价呢？", "咋卖", "门票几块钱"),
        ),
        ("phone", ("What's the bakery's phone number?", "phone number?", "What is the hotline?")),
        ("phone", ("物业的电话是多少？", "電話號碼？", "该打哪个电话")),
        ("email", ("What is the secretary's email?", "Which email do I use?")),
        ("email", ("客服邮箱是什么", "電郵是什麼？")),
        # Follow-ups, with words of the question before.
        ("phone", ("电话多少？ (图书馆 关门)", "电话多少 (图书馆)")),
        ("email", ("邮箱呢？ (图书馆)", "What's their email? (bakery open)")),
        ("money", ("门票怎么卖？ (图书馆)", "and the price? (bakery)")),
        (
            None,
            (
                "Is breakfast included in the price?",
                "Why is the rent so high?",
                "When is the rent due?",
                "How much is left?",
                "What happens if I break my phone?",
                "How do I change my email?",
                "怎么打电话",
                "手机坏了怎么办",
                "为什么涨价？",
            ),
        ),
    ],
)
def test_what_alone_answers_a_question(kind: str | None, questions: Sequence[str]) -> None:
    demanded = [demanded_kind(question, expected_kinds(question)) for question in questions]
    assert demanded == [kind] * len(questions)


@pytest.mark.parametrize(
    ("sentence", "kind", "passage", "expected"),
    [
        ("A cake is ten euros.", "money", "", True),
        ("蛋餅三十五元。", "money", "", True),
        ("The deposit is one month's rent.", "money", "", True),
        ("Cake: 12", "money", "# Price list\n\nCake: 12", True),
        ("Espresso 2.50", "money", "Espresso 2.50", True),
        ("Cake 12", "money", "Cake 12\nTea 3", True),
        ("Cake: 12, tea: 3.", "money", "", True),
        ("| Cake | 12 | 3 left |", "money", "", True),
        ("蛋糕十二", "money", "", True),
        ("We open at 7:30.", "money", "", False),
        ("现在一千五出。", "money", "原价三千二，现在一千五出。", True),
        ("We open at seven.", "money", "We open at seven.", False),
        ("早上七点开门。", "money", "早上七点开门。", False),
        ("Ring 112.", "phone", "", True),
        ("Write to the office.", "phone", "Write to the office.", False),
        ("See office@example.org.", "email", "", True),
        ("Ring 555-0142.", "email", "Mail: office@example.org. Ring 555-0142.", False),
    ],
)
def test_a_sentence_that_may_hold_what_is_demanded(
    sentence: str, kind: Kind, passage: str, expected: bool
) -> None:
    assert may_answer(sentence, kind, passage) is expected


@pytest.mark.parametrize(
    "question",
    [
        "How much is the bridge?",
        "What's the bridge's phone number?",
        "大桥多少钱？",
        "大桥的邮箱是什么？",
    ],
)
def test_a_question_for_what_no_sentence_holds_is_refused(question: str) -> None:
    text = BRIDGE if question.isascii() else BRIDGE_HANS
    *_, draft = ExtractiveGenerator().generate(question, [hit(text)])
    assert isinstance(draft, Draft)
    assert draft.refused


def test_a_menu_without_a_currency_answers_what_something_costs() -> None:
    menu = hit("Cake 12\nTea 3\nWe open at seven.")
    assert pick("How much is a cake?", [menu])[0].candidate.text.startswith("Cake 12")
    table = hit("| Item | Each | Left |\n| --- | --- | --- |\n| Cake | 12 | some |\n")
    assert "12" in pick("How much is a cake?", [table])[0].candidate.text


def test_a_question_for_an_address_of_mail_is_answered_with_one() -> None:
    text = "Tell the school secretary if your child is ill. Or write to office@example.org."
    [first, *_] = pick("What is the school's email?", [hit(text)])
    assert first.candidate.text == "Or write to office@example.org."


def test_reading_a_question() -> None:
    question = read_question("Which company owns the old mill?")
    assert question.content == {"compani", "own", "old", "mill"}
    assert question.focus == {"compani", "own"}
    assert read_question("这座桥由哪家公司建造？").focus >= {"公司", "座桥"}
    assert is_traditional("這座橋")
    assert not is_traditional("这座桥")


class HearsOne(Meaning):
    """An embedding model that finds all sentences near one query, and far from any other."""

    def __init__(self, query: str) -> None:
        self.query = query

    def model(self) -> str:
        return bundled.NAME

    def cosines(self, question: str, texts: Sequence[str]) -> list[float]:
        return [0.9 if question == self.query else -0.9] * len(texts)


def test_a_follow_ups_sentences_are_compared_with_all_that_is_searched_for() -> None:
    text = "其他地区每晚的住宿限额为330元。申请在三天内批复。"
    question, query = "那其他地区呢？", "那其他地区呢？ (一线城市 住宿限额)"
    passage = replace(hit(text), scores={"dense": 0.5})
    generator = ExtractiveGenerator(meaning=HearsOne(query))
    *_, alone = generator.generate(question, [passage])
    assert isinstance(alone, Draft)
    assert alone.refused
    *_, searched = generator.searching(query).generate(question, [passage])
    assert isinstance(searched, Draft)
    assert "330元" in searched.text
