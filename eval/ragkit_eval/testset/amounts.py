"""Make questions for the amounts, dates and times of a sentence, in English or Chinese."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ragkit.question.reading import has_cjk
from ragkit_eval.testset.amounts_en import english
from ragkit_eval.testset.amounts_zh import chinese
from ragkit_eval.testset.blanks import blanks
from ragkit_eval.testset.wording import Amount


def amounts(sentence: str, weight: Callable[[str], float], text: str = "") -> Iterator[Amount]:
    """Yield the questions that ask for a sentence's numbers, dates and times.

    `weight` returns a term's rarity; `text` is the document's, which distinguishes names from
    words.

    >>> [amount] = amounts("The course lasts four hours and takes place upstairs.", len)
    >>> amount.question, amount.answer
    ('How long does the course last?', 'four hours')
    >>> [amount] = amounts("标定水槽长36米，水位由步进电机控制。", len)
    >>> amount.question, amount.answer
    ('标定水槽长多少米？', '36米')
    """
    for blank in blanks(sentence, weight):
        if blank.kind not in {"date", "time", "number"}:
            continue
        amount = chinese(sentence, blank) if has_cjk(sentence) else english(sentence, blank, text)
        if amount is not None:
            yield amount
