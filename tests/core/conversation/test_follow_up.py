"""What is searched for without a model: a question as it stands, or with words of the last one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from ragkit import KnowledgeBase
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.conversation import follow_up
from ragkit.conversation.tries import Piece, _later
from ragkit.prompts.templates import Templates
from ragkit.question.rewrite import Standalone
from ragkit.testing import FakeEmbedder, FakeLanguageModel, FakeStore
from ragkit.testing.corpus import fill, new_document
from ragkit.types import Answer, Draft, Hit, Turn

LEASE = (
    "The lease can be terminated with three months' notice. The rent is 985 pounds a month."
    " 租约可以提前三个月书面通知终止。租金是每月4800元。"
)
CANTEEN = "The canteen serves lunch at noon. Soup is included on Mondays. 食堂中午供应午餐。"
TERMINATED = "When can the lease be terminated?"
TERMINATED_ZH = "租约什么时候可以终止？"


class RefusesFirst:
    """Refuse a question the first time, as if nothing had been found for it as it stands."""

    def __init__(self, question: str) -> None:
        self._refused = question

    def generate(
        self, question: str, passages: Sequence[Hit], *, history: Sequence[Turn] = ()
    ) -> Iterator[str | Draft]:
        if question != self._refused:
            return ExtractiveGenerator().generate(question, passages, history=history)
        self._refused = ""
        return iter(("No.", Draft("No.", refused=True, reason="not there")))


@pytest.fixture
def kb() -> KnowledgeBase:
    store = FakeStore()
    documents = [new_document("lease.md", LEASE), new_document("canteen.md", CANTEEN)]
    fill(store, FakeEmbedder(), documents)
    return KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="default")


def ask(
    kb: KnowledgeBase, before: str, question: str, cited: Sequence[Hit] = ()
) -> tuple[Standalone, Answer, list[Piece]]:
    """Return what was searched for, the answer, and all that came."""
    queries: list[Standalone] = []
    last = Turn(before, kb.ask(before).text)
    pieces = list(
        follow_up.answer_by_words(kb, question, last, cited=cited, on_query=queries.append)
    )
    (query,), answer = queries, pieces[-1]
    assert isinstance(answer, Answer)
    return query, answer, pieces


@pytest.mark.parametrize(
    ("before", "question", "fact"),
    [
        (TERMINATED, "How much is the rent?", "985 pounds"),
        (TERMINATED_ZH, "租金多少？", "4800元"),
        (TERMINATED, "When does the canteen serve lunch?", "at noon"),
        (TERMINATED_ZH, "食堂几点供应午餐？", "中午"),
    ],
)
def test_a_complete_question_is_searched_for_as_it_stands(
    kb: KnowledgeBase, before: str, question: str, fact: str
) -> None:
    cited = kb.search(before, k=1)
    query, answer, _ = ask(kb, before, question, cited)
    assert (query.text, query.made) == (question, "as asked: it stands alone")
    assert fact in answer.text
    assert answer.text == kb.ask(question).text, "what was cited before is no candidate"


@pytest.mark.parametrize(
    ("before", "question", "fact"),
    [
        (TERMINATED, "with what notice?", "three months' notice"),
        ("How much is the rent?", "and per month?", "985 pounds"),
        (TERMINATED_ZH, "要提前多久？", "提前三个月"),
        (TERMINATED_ZH, "那书面通知呢？", "三个月"),
    ],
)
def test_a_question_that_cannot_stand_alone_takes_the_words_of_the_one_before(
    kb: KnowledgeBase, before: str, question: str, fact: str
) -> None:
    query, answer, _ = ask(kb, before, question)
    assert query.text.startswith(f"{question} (")
    assert fact in answer.text


@pytest.mark.parametrize(
    ("text", "before", "question", "fact"),
    [
        (
            "借用投影仪须提前两天在前台登记。投影仪的押金是三百元，归还后退还。活动室每晚九点关门。",
            "借用投影仪要提前多久登记？",
            "那押金呢？",
            "投影仪的押金是三百元",
        ),
        (
            "The hall must be booked two days ahead at the desk. The hall's deposit is 40 pounds."
            " The doors close at nine.",
            "How many days ahead must the hall be booked at the desk?",
            "And the deposit?",
            "The hall's deposit is 40",
        ),
    ],
)
def test_a_follow_up_about_a_short_document_is_not_answered_by_the_same_sentence(
    text: str, before: str, question: str, fact: str
) -> None:
    store = FakeStore()
    fill(store, FakeEmbedder(), [new_document("hall.md", text)])
    kb = KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="default")
    _, answer, _ = ask(kb, before, question)
    assert answer.text.startswith(fact)


@pytest.mark.parametrize(
    ("before", "question", "fact"),
    [
        ("When does the canteen serve lunch?", "Is soup included?", "Soup is included"),
        ("食堂几点供应午餐？", "有午餐吗？", "中午供应午餐"),
    ],
)
def test_a_short_question_that_is_refused_as_it_stands_is_tried_with_them(
    kb: KnowledgeBase, before: str, question: str, fact: str
) -> None:
    kb.generator = RefusesFirst(question)
    shown: list[Sequence[Hit]] = []
    query, answer, pieces = ask(kb.adapted(on_found=shown.append), before, question)
    assert query.made.endswith("nothing answers it as it stands")
    assert query.text.startswith(f"{question} (")
    assert fact in answer.text
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == answer.text
    assert shown[1:] == [answer.hits], "only the passages of the answer that counts"


@pytest.mark.parametrize(
    ("before", "question"),
    [
        (TERMINATED, "How much is the parking?"),
        (TERMINATED, "Who won the football championship in Brazil?"),
        (TERMINATED_ZH, "宠物可以养吗？"),
        (TERMINATED_ZH, "红烧肉怎么做才不腻？"),
    ],
)
def test_a_complete_question_that_nothing_answers_is_not_answered_by_the_one_before(
    kb: KnowledgeBase, before: str, question: str
) -> None:
    query, answer, _ = ask(kb, before, question, kb.search(before, k=1))
    assert (query.text, answer.refused) == (question, True)


def test_the_seconds_of_both_tries_are_told(kb: KnowledgeBase) -> None:
    first = [Answer("", True, "", timings={"retrieve": 1.0, "gate": 0.5})]
    *_, both = _later(["a", Answer("a", False, "", timings={"retrieve": 2.0})], first)
    assert isinstance(both, Answer)
    assert both.timings == {"retrieve": 3.0, "gate": 0.5}


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("When does the canteen serve lunch on Mondays?", False),
        ("食堂星期一中午几点供应午餐和汤？", False),
        ("How much is the rent?", True),
        ("租金多少？", True),
        ("How long is it?", True),
    ],
)
def test_a_model_is_asked_to_rewrite_what_does_not_plainly_stand_alone(
    question: str, asked: bool
) -> None:
    model = FakeLanguageModel(question)
    query = follow_up.rewrite_if_needed(model, Templates(), question, [Turn(TERMINATED, "In May.")])
    assert (query.text, query.made) == (question, "as asked: it stands alone")
    assert bool(model.asked) == asked
