"""Misspelt words of a question are read as the passages spell them."""

import pytest

from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.answer.write.spelling import respell
from ragkit.types import Draft, Hit

TEXT = (
    "A cappuccino costs 3 euros. Printing in colour costs 40 cents. The house is grey. "
    "Maria is at the reception. 书架在楼上。"
)
PASSAGE = Hit(1, 1, "cafe.md", "", None, 0, len(TEXT), TEXT, 1.0)


@pytest.mark.parametrize(
    ("question", "spelt"),
    [
        ("How much is a capuccino?", "How much is a cappuccino?"),  # a letter too few
        ("a cappucinno please", "a cappucinno please"),  # two slips
        ("what does pritning cost", "what does printing cost"),  # changed places
        ("Is the reseption open?", "Is the reception open?"),  # a wrong letter of a long word
        ("receptionn or recption?", "reception or reception?"),
        ("Is the houze grey?", "Is the houze grey?"),  # of a short one it makes another word
        ("When does Marta Receptoin start?", "When does Marta Receptoin start?"),  # names
        ("hwo much is it", "how much is it"),
        ("Is there a mouse?", "Is there a mouse?"),  # the first letter is another
        ("Does it sost much?", "Does it sost much?"),  # a short word
        ("How many houses are there?", "How many houses are there?"),  # another form of a word
        ("书架在哪里？", "书架在哪里？"),
    ],
)
def test_a_word_that_no_passage_has(question: str, spelt: str) -> None:
    assert respell(question, [PASSAGE]) == spelt


def test_a_word_that_is_near_two_stays() -> None:
    text = "The stationary pump is here. The stationery is upstairs."
    passage = Hit(1, 1, "a.md", "", None, 0, len(text), text, 1.0)
    assert respell("Where is the stationory?", [passage]) == "Where is the stationory?"


def test_a_misspelt_question_is_answered_by_a_document_that_spells_it_otherwise() -> None:
    *_, draft = ExtractiveGenerator().generate("hwo much is a capuccino?", [PASSAGE])
    assert isinstance(draft, Draft)
    assert draft.text == "A cappuccino costs 3 euros. [1]"
