"""When quoted sentences are no answer: the passages they stand in say too little of the question.

It judges by words alone: a passage about the very thing asked that leaves the answer out looks
like one that gives it, and is mostly let through.
"""

import re
from collections.abc import Mapping, Sequence

from ragkit.answer.candidates import Candidate
from ragkit.answer.prompt import REFUSAL
from ragkit.answer.question import Question, has_cjk, is_traditional, terms
from ragkit.text.analyse import analyse

# More than a third of the question's content, by idf, must stand in one chosen passage. With 5
# passages it refuses wrongly 4.0% of CLAPNQ, 4.2% of chunking_evaluation, 2.6% of CMRC 2018, 4.4%
# of Cranfield; and rightly 20% of CLAPNQ's unanswerable questions, whose own passage is there, 36%
# of CLAPNQ's and 70% of CMRC's with their passage gone, 88% of CLAPNQ's asked of Cranfield. With
# every term weighing alike: 4.0%, 3.6%, 2.2%, 1.3% wrongly; 17%, 27%, 61%, 69% rightly.
MIN_SHARE = 0.35
MAX_NAMED = 8  # missing terms named in a reason; arbitrary

_REFUSAL_TRADITIONAL = "所給資料無法回答這個問題。"


def statement(question: str) -> str:
    """Say that the documents do not answer, in the question's language and script.

    >>> statement("誰寫了這本書？")
    '所給資料無法回答這個問題。'
    """
    if not has_cjk(question):
        return REFUSAL["en"]
    return _REFUSAL_TRADITIONAL if is_traditional(question) else REFUSAL["zh"]


def reason_to_refuse(
    question: Question, chosen: Sequence[Candidate], weights: Mapping[str, float]
) -> str:
    """Explain why the chosen sentences should not be given as an answer; "" when they may be.

    `weights` has the idf of each content term in the collection that was searched.
    """
    if not question.content:
        return "the question holds no word to look for"
    shared = [_known(candidate) & question.content for candidate in chosen]
    if not any(shared):
        return "the passages hold no content word of the question"
    whole = sum(weights[term] for term in question.content)
    best = max(sum(weights[term] for term in terms_shared) for terms_shared in shared)
    if best < MIN_SHARE * whole:
        missing = question.content.difference(*shared)
        missed = sorted(missing, key=lambda term: (-weights[term], term))[:MAX_NAMED]
        return (
            f"the best passage holds {best / whole:.0%} of what the question asks about;"
            f" missing: {', '.join(_as_asked(question.text, term) for term in missed)}"
        )
    return ""


def _as_asked(text: str, term: str) -> str:
    """Return the word of a question that the analyser made the term of; a CJK pair is its own."""
    words = re.findall(r"[^\W_]+", text)
    return next((word for word in words if analyse(word) == [term]), term)


def _known(candidate: Candidate) -> frozenset[str]:
    return terms(candidate.hit.text) | candidate.path
