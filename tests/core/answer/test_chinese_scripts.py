"""Chinese in two scripts: what is asked in one is answered from texts in the other, unchanged."""

import pytest

from ragkit.answer.check.quotations import fold, locate
from ragkit.answer.check.support import Evidence, coverage
from ragkit.answer.check.verify import verify
from ragkit.answer.refuse.question_coverage import best_coverage, missing_words
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.answer.write.llm import refusal_in
from ragkit.question.answer_kinds import expected_kinds, has_answer
from ragkit.question.reading import distinct_terms, read_question
from ragkit.types import Draft, Hit, Span

HANS = "图书馆每天八点开门。台风过后，后勤部门会在网站上发布重新开放的时间。理发店在里面。"
HANT = "圖書館每天八點開門。颱風過後，後勤部門會在網站上發布重新開放的時間。理髮店在裡面。"
QUESTIONS = ["台风过后在哪里发布重新开放的时间？", "颱風過後在哪裡發布重新開放的時間？"]
BOTH = pytest.mark.parametrize("text", [HANS, HANT], ids=["simplified", "traditional"])


def hit(text: str) -> Hit:
    return Hit(1, 1, "library.md", "", None, 0, len(text), text, 1.0)


@BOTH
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_in_either_script_is_answered_in_the_texts_own(question: str, text: str) -> None:
    *_, draft = ExtractiveGenerator().generate(question, [hit(text)])
    assert isinstance(draft, Draft)
    assert not draft.refused
    start, end = text.index("。") + 1, text.rindex("。", 0, -1) + 1
    assert (draft.citations[0].start, draft.citations[0].end) == (start, end)
    assert draft.citations[0].quote == text[start:end]
    assert verify(draft, lambda _: text, [hit(text)]).citations[0].verdict == "verified"


@BOTH
def test_as_much_of_a_question_is_held_in_either_script(text: str) -> None:
    shares = set()
    for question in map(read_question, QUESTIONS):
        held = best_coverage(question, [hit(text)], dict.fromkeys(question.content, 1.0))
        assert held is not None
        shares.add(held.share)
    assert shares == {1.0}


def test_both_scripts_ask_for_the_same() -> None:
    simplified, traditional = map(read_question, QUESTIONS)
    assert simplified.content == traditional.content
    assert simplified.focus == traditional.focus
    assert simplified.runs == traditional.runs
    assert simplified.units == traditional.units
    assert expected_kinds(QUESTIONS[0]) == expected_kinds(QUESTIONS[1])
    assert distinct_terms("颱風 Go") == distinct_terms("台风 go") == {"台", "风", "台风", "go"}


def test_what_the_question_says_in_another_script_is_no_answer_to_it() -> None:
    question = "1932年几个人參加？三個嗎？"
    assert not has_answer("三个人参加。", expected_kinds("几个人？"), question)
    assert has_answer("四個人參加。", expected_kinds("幾個人？"), question)


def test_missing_words_are_named_as_the_question_writes_them() -> None:
    question = read_question("颱風來時禁止養貓嗎？")
    weights = dict.fromkeys(question.content, 1.0)
    assert missing_words(question, [hit("这里没有答案。台风来了。")], weights) == ["禁止養貓"]


def test_a_quotation_in_another_script_is_found_in_its_source() -> None:
    start = HANT.index("理髮")
    assert locate("理发店在里面", fold(HANT)) == Span(start, start + 6)
    assert locate("理髮店在外面", fold(HANS)) is None


@BOTH
@pytest.mark.parametrize("claim", ["台风过后，网站上发布时间。", "颱風過後，網站上發布時間。"])
def test_a_sentence_is_covered_in_either_script(claim: str, text: str) -> None:
    assert coverage(claim, [Evidence([text])]) == 1.0


def test_a_model_may_refuse_in_traditional_characters() -> None:
    assert (
        refusal_in("所給資料無法回答這個問題。") == refusal_in("所给资料无法回答这个问题。") != ""
    )
