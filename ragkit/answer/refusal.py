"""The words of a refusal: what was looked at, and what of the question stands nowhere in it."""

from collections.abc import Mapping, Sequence

from ragkit.answer.evidence import missing_words
from ragkit.answer.prompt import REFUSAL
from ragkit.answer.question import Question, has_cjk, is_traditional
from ragkit.types import Hit

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


def nothing_asked(question: str) -> str:
    """Say that a question has no word that could be looked for."""
    if has_cjk(question):
        return "问题中没有可供查找的词"
    return "the question holds no word to look for"


def all_below(question: str, least: float) -> str:
    """Say that no passage reaches a cut-off on the reranker's score.

    >>> all_below("Who?", 0.25)
    "no passage reaches the reranker's cut-off 0.250"
    """
    if has_cjk(question):
        return f"没有段落达到重排序得分的界限{least:.3f}"
    return f"no passage reaches the reranker's cut-off {least:.3f}"


def below(question: str, score: float, cutoff: float) -> str:
    """Say by how much passages fall short of a fitted cut-off.

    >>> below("Who?", 0.25, 0.5)
    'they score 0.250, below the cut-off 0.500; '
    """
    if has_cjk(question):
        return f"得分{score:.3f}，低于界限{cutoff:.3f}；"
    return f"they score {score:.3f}, below the cut-off {cutoff:.3f}; "


def too_little(question: Question, passages: Sequence[Hit], weights: Mapping[str, float]) -> str:
    """Name the words of the question that no passage has; without any, say that none fits.

    `weights` has the idf of the question's content terms.
    """
    missing = missing_words(question, passages, weights)
    if has_cjk(question.text):
        named = "、".join(f"“{word}”" for word in missing)
        return f"没有一处提到{named}" if missing else "似乎都与这个问题无关"
    named = ", ".join(f"“{word}”" for word in missing)
    return f"none mentions {named}" if missing else "none seems to be about this"
