"""Sentences chosen by meaning, in the question's own language and in the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ragkit.answer.meaning import Meaning
from ragkit.answer.write.extract import pick
from ragkit.embed import bundled
from ragkit.types import Hit

QUESTION = "When does the swimming pool close?"
ENGLISH = "The library closes at eight. Books are lent for a month."
CHINESE = "泳池晚上九点关闭。更衣室在一楼。"
LIBRARY, POOL = "The library closes at eight.", "泳池晚上九点关闭。"


class Measured(Meaning):
    """An embedding model whose cosines are given; it reads Chinese where told so."""

    def __init__(self, cosines: Mapping[str, float], *, reads_chinese: bool = True) -> None:
        self.known = cosines
        self.reads_chinese = reads_chinese
        self.compared: list[str] = []

    def model(self) -> str:
        return bundled.NAME

    def reads(self, text: str) -> bool:
        return self.reads_chinese or text.isascii()

    def cosines(self, question: str, texts: Sequence[str]) -> list[float]:
        self.compared += texts
        return [self.known.get(text, 0.0) for text in texts]


def hits(english: float, chinese: float) -> list[Hit]:
    """Passages in both languages with these cosines, the English one first."""
    return [
        Hit(n, n, f"{n}.md", "", None, 0, len(text), text, 1.0, scores={"dense": cosine})
        for n, (text, cosine) in enumerate(((ENGLISH, english), (CHINESE, chinese)), 1)
    ]


@pytest.mark.parametrize(
    ("passages", "sentences", "quoted"),
    [
        # (cosines of the English and the Chinese passage, of the two sentences, what is quoted)
        ((0.2, 0.4), (0.2, 0.5), [POOL]),
        ((0.3, 0.3), (0.4, 0.4), [LIBRARY, POOL]),
        ((0.4, 0.3), (0.6, 0.4), [LIBRARY]),
        ((0.5, 0.2), (0.2, 0.9), [LIBRARY]),
    ],
)
def test_another_language_is_quoted_as_far_as_it_is_nearer_to_the_question(
    passages: tuple[float, float], sentences: tuple[float, float], quoted: list[str]
) -> None:
    meaning = Measured(dict(zip((LIBRARY, POOL), sentences, strict=True)))
    chosen = pick(QUESTION, hits(*passages), meaning=meaning)
    assert [item.candidate.display for item in chosen] == quoted


def test_another_language_is_not_quoted_where_the_question_is_answered_in_its_own() -> None:
    meaning = Measured({LIBRARY: 0.4, POOL: 0.6})
    chosen = pick("When does the library close?", hits(0.3, 0.4), meaning=meaning)
    assert [item.candidate.display for item in chosen] == [LIBRARY]


def test_sentences_of_a_language_that_is_far_behind_are_not_compared() -> None:
    meaning = Measured({})
    pick(QUESTION, hits(0.5, 0.2), meaning=meaning)
    assert meaning.compared == [LIBRARY, "Books are lent for a month."]


def test_what_is_in_no_other_language_needs_no_lead() -> None:
    chosen = pick(QUESTION, hits(0.0, 0.3)[1:], meaning=Measured({POOL: 0.3}))
    assert chosen[0].candidate.display == POOL


def test_a_sentence_that_shares_the_questions_words_counts_by_them() -> None:
    text = "错误码是 ERR-4012，水泵停转。"
    passage = Hit(1, 1, "a.md", "", None, 0, len(text), text, 1.0, scores={"dense": 0.1})
    chosen = pick("ERR-4012?", [passage, hits(0.4, 0)[0]], meaning=Measured({}))
    assert "水泵" in chosen[0].candidate.display


def test_a_model_that_reads_one_language_leaves_the_other_to_words() -> None:
    nearest = Measured({POOL: 0.9}, reads_chinese=False)
    chosen = pick(QUESTION, hits(0.1, 0.9), meaning=nearest)
    assert chosen[0].candidate.display == LIBRARY
