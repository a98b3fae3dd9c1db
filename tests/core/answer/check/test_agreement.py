"""Which of several answers the others agree with."""

from collections.abc import Sequence

from ragkit.answer.check.agreement import Vote, vote
from ragkit.text.markers import find_markers
from ragkit.text.sentences import sentences
from ragkit.types import Answer, Claim, Hit, Support

USED = tuple(Hit(1, n, "a", "a", None, n, n + 1, "x", 0.0) for n in (10, 11, 12))


def answer(text: str, *supports: Support) -> Answer:
    """Make an answer whose sentences have these supports, "supported" where none is given."""
    claims = []
    for place, span in enumerate(sentences(text)):
        support = supports[place] if place < len(supports) else "supported"
        sentence = text[span.start : span.end]
        cites = tuple(n for marker in find_markers(sentence) for n in marker.numbers)
        claims.append(Claim(span.start, span.end, cites, support))
    return Answer(text, refused=False, reason="", claims=tuple(claims), used=USED)


REFUSED = Answer("The sources do not answer this question.", refused=True, reason="by the model")


def agreeing(*answers: Answer) -> Sequence[float]:
    return vote(answers).agreeing


def test_the_answer_that_most_agree_with_is_chosen() -> None:
    answers = [
        answer("Annual leave is 30 days [1]."),
        answer("Annual leave is 25 days [1]."),
        answer("The annual leave of a year is 25 days [1]."),
    ]
    assert vote(answers) == Vote(1, (0.0, 1.0, 1.0))


def test_claims_agree_by_passage_numbers_denials_and_words() -> None:
    base = answer("Annual leave is 25 days [1].")
    for other in (
        "Annual leave is 25 days [2].",
        "Annual leave is 26 days [1].",
        "Annual leave is not 25 days [1].",
        "Offices have 25 rooms [1].",
    ):
        assert agreeing(base, answer(other)) == (0.0, 0.0), other
    assert agreeing(base, answer("Leave is 25 days [1][2].")) == (1.0, 1.0)


def test_unsupported_claims_neither_get_nor_give_votes() -> None:
    wrong = answer("Annual leave is 30 days [1].", "not found")
    right = answer("Annual leave is 25 days [1].")
    assert vote([wrong, wrong, right]) == Vote(2, (0.0, 0.0, 0.0))
    padded = answer("Annual leave is 25 days [1]. It is great [1].", "supported", "not found")
    assert agreeing(padded, right) == (0.5, 1.0)


def test_refusals_agree_with_each_other() -> None:
    right = answer("Annual leave is 25 days [1].")
    assert vote([right, REFUSED, REFUSED]) == Vote(1, (0.0, 1.0, 1.0))
    assert vote([REFUSED, right, right]).chosen == 1


def test_of_equal_votes_more_supported_claims_win_then_the_first() -> None:
    short = answer("Annual leave is 25 days [1].")
    long = answer("Offices open at nine [2]. Doors are blue [3].")
    assert vote([short, long]).chosen == 1
    assert vote([short, short]).chosen == 0
    assert vote([Answer("", refused=False, reason="")]) == Vote(0, (0.0,))


def test_chinese_claims_agree() -> None:
    assert agreeing(answer("年假为25天[1]。"), answer("员工年假是25天[1]。")) == (1.0, 1.0)
