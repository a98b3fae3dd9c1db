"""When quoted sentences are no answer: the passages they stand in say too little of the question.

It judges by words alone: a passage about the very thing asked that leaves the answer out looks
like one that gives it, and is mostly let through.
"""

from collections.abc import Sequence

from ragkit.answer.candidates import Candidate
from ragkit.answer.prompt import REFUSAL
from ragkit.answer.question import Question, has_cjk, is_traditional, terms

# More than a third of the question's content terms must stand in one chosen passage. Refuses
# wrongly 4.3% of CMRC 2018 (chunks of 240 tokens, 8 passages), 5.0% of CLAPNQ, 3.4% of
# chunking_evaluation; refuses rightly 22% of CLAPNQ's unanswerable questions, whose own passage
# is there, 63% of CMRC's with their paragraph gone, all of CMRC's asked of Cranfield. At 0.45:
# 7%, 12%, 9% wrongly and 37%, 78%, 100% rightly.
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


def reason_to_refuse(question: Question, chosen: Sequence[Candidate]) -> str:
    """Explain why the chosen sentences should not be given as an answer; "" when they may be."""
    if not question.content:
        return "the question holds no word to look for"
    shared = [_known(candidate) & question.content for candidate in chosen]
    best = max(map(len, shared), default=0)
    if not best:
        return "the passages hold no content word of the question"
    if best / len(question.content) < MIN_SHARE:
        missing = sorted(question.content.difference(*shared))
        share = f"{best} of the question's {len(question.content)} content terms"
        return f"the best passage holds only {share}; missing: {', '.join(missing[:MAX_NAMED])}"
    return ""


def _known(candidate: Candidate) -> frozenset[str]:
    return terms(candidate.hit.text) | candidate.path
