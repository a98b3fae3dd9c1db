"""The words of a refusal, and when quoted sentences are no answer.

It judges by words alone: a passage about the very thing asked that leaves the answer out looks
like one that gives it, and is mostly let through.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from ragkit.answer.candidates import Candidate
from ragkit.answer.prompt import REFUSAL
from ragkit.answer.question import Question, has_cjk, is_traditional, terms
from ragkit.text.analyse import CJK, analyse

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


def searched(question: str, collection: str, passages: int) -> str:
    """Say what was searched, as the beginning of a reason.

    >>> searched("Who?", "default", 1)
    "looked at 1 passage of collection 'default': "
    """
    if has_cjk(question):
        return (
            f"在文档集“{collection}”中查看了{passages}个段落："
            if passages
            else (f"搜索了文档集“{collection}”：")
        )
    if not passages:
        return f"searched collection {collection!r}: "
    return f"looked at {passages} passage{'s' * (passages > 1)} of collection {collection!r}: "


def nothing_found(question: str) -> str:
    """Say that the search found nothing."""
    return "没有找到任何段落" if has_cjk(question) else "no passage was found"


def all_below(question: str, least: float) -> str:
    """Say that no passage reaches a cut-off on the reranker's score.

    >>> all_below("Who?", 0.25)
    "no passage reaches the reranker's cut-off 0.250"
    """
    if has_cjk(question):
        return f"没有段落达到重排序得分的界限{least:.3f}"
    return f"no passage reaches the reranker's cut-off {least:.3f}"


def below(
    question: Question,
    share: float | None,
    missing: Collection[str],
    weights: Mapping[str, float],
    *,
    score: tuple[float, float] | None = None,
) -> str:
    """Say how far the best passage falls short: of the words, and of a cut-off where one is set.

    `score` is the passages' score and the cut-off.
    """
    chinese = has_cjk(question.text)
    parts: list[str] = []
    if score is not None:
        best, cutoff = score
        parts.append(
            f"得分{best:.3f}，低于界限{cutoff:.3f}"
            if chinese
            else f"they score {best:.3f}, below the cut-off {cutoff:.3f}"
        )
    if share is not None:
        parts.append(
            f"最好的段落含有所问内容的{share:.0%}"
            if chinese
            else f"the best passage holds {share:.0%} of what the question asks about"
        )
    named = _most_missed(question, missing, weights)
    if named:
        parts.append(f"缺少：{'、'.join(named)}" if chinese else f"missing: {', '.join(named)}")
    return ("；" if chinese else "; ").join(parts)


def reason_to_refuse(
    question: Question,
    chosen: Sequence[Candidate],
    weights: Mapping[str, float],
    *,
    min_share: float = MIN_SHARE,
) -> str:
    """Explain why the chosen sentences should not be given as an answer; "" when they may be.

    `weights` has the idf of each content term in the collection that was searched.
    """
    chinese = has_cjk(question.text)
    if not question.content:
        return "问题中没有可供查找的词" if chinese else "the question holds no word to look for"
    shared = [_known(candidate) & question.content for candidate in chosen]
    if not any(shared):
        if chinese:
            return "找到的段落不含问题中的任何实词"
        return "the passages hold no content word of the question"
    whole = sum(weights[term] for term in question.content)
    best = max(sum(weights[term] for term in terms_shared) for terms_shared in shared)
    if best < min_share * whole:
        return below(question, best / whole, question.content.difference(*shared), weights)
    return ""


def _most_missed(
    question: Question, missing: Collection[str], weights: Mapping[str, float]
) -> list[str]:
    """Name what is missing as the question writes it, the weightiest first."""
    weight_of: dict[str, float] = {}
    for run in re.findall(rf"[{CJK}]+|(?:(?![{CJK}_])\w)+", question.text):
        found = analyse(run)
        marks = [term in missing for term in found]
        if len(found) == 1 and marks[0]:
            weight_of[run] = weights[found[0]]
        elif len(found) > 1:  # pairs that overlap make one stretch
            for first, last in _stretches(marks):
                weight = max(weights[term] for term in found[first : last + 1])
                weight_of[run[first : last + 2]] = weight
    return sorted(weight_of, key=lambda named: (-weight_of[named], named.casefold()))[:MAX_NAMED]


def _stretches(marks: Sequence[bool]) -> list[tuple[int, int]]:
    """List the first and last place of each stretch of marks."""
    edges = [i for i, mark in enumerate(marks) if mark != (marks[i - 1] if i else False)]
    edges += [len(marks)] * (len(edges) % 2)
    return [(edges[i], edges[i + 1] - 1) for i in range(0, len(edges), 2)]


def _known(candidate: Candidate) -> frozenset[str]:
    return terms(candidate.hit.text) | candidate.path
