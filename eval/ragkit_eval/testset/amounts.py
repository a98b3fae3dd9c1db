"""What a sentence counts or measures, as a question and its answer, in either language.

It knows nothing of documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ragkit.answer.question import has_cjk
from ragkit_eval.testset.amounts_en import english
from ragkit_eval.testset.amounts_zh import chinese
from ragkit_eval.testset.blanks import blanks
from ragkit_eval.testset.wording import Amount


def amounts(sentence: str, weight: Callable[[str], float], text: str = "") -> Iterator[Amount]:
    """Yield the questions that a sentence's numbers, dates and times can be asked with.

    `weight` says how rare a term is; `text` is the document's, which tells names from words.

    >>> [one] = amounts("The course lasts four hours and takes place upstairs.", len)
    >>> one.question, one.answer
    ('How long does the course last?', 'four hours')
    >>> [one] = amounts("标定水槽长36米，水位由步进电机控制。", len)
    >>> one.question, one.answer
    ('标定水槽长多少米？', '36米')
    """
    for blank in blanks(sentence, weight):
        if blank.kind not in {"date", "time", "number"}:
            continue
        asked = chinese(sentence, blank) if has_cjk(sentence) else english(sentence, blank, text)
        if asked is not None:
            yield asked
