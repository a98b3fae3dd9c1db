"""The words of a refusal, in the question's language, naming the words that no passage has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ragkit.answer.refuse.question_coverage import missing_words
from ragkit.prompts.messages import REFUSAL
from ragkit.question.reading import Language, Question, question_language
from ragkit.types import Hit

_REFUSAL_TRADITIONAL: Final = "所給資料無法回答這個問題。"
_REASONS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "nothing found": "Nothing was found in the documents.",
        "nothing asked": "The question has no word to look for.",
        "missing": "Nothing that was found in the documents mentions {words}.",
        "unrelated": "Nothing that was found in the documents seems to answer the question.",
        "by model": "The language model found no answer in the passages that it was given.",
        "all below": "Nothing in the documents is near enough to the question: no passage reaches"
        " the reranker's cut-off {least}.",
        "below": " (It scores {score}, below the cut-off {cutoff}.)",
        "or": " or ",
        "next": ", ",
    },
    "zh": {
        "nothing found": "文档中没有找到相关内容。",
        "nothing asked": "问题中没有可以查找的词语。",
        "missing": "在文档中找到的内容都没有提到{words}。",
        "unrelated": "在文档中找到的内容似乎都没有回答这个问题。",
        "by model": "语言模型在所给的段落中没有找到答案。",
        "all below": "文档中的内容与问题都不够接近：没有段落达到重排序的分数线 {least}。",
        "below": "（得分 {score}，低于分数线 {cutoff}。）",
        "or": "或",
        "next": "、",
    },
    "zh-Hant": {
        "nothing found": "文件中沒有找到相關內容。",
        "nothing asked": "問題中沒有可以查找的詞語。",
        "missing": "在文件中找到的內容都沒有提到{words}。",
        "unrelated": "在文件中找到的內容似乎都沒有回答這個問題。",
        "by model": "語言模型在所給的段落中沒有找到答案。",
        "all below": "文件中的內容與問題都不夠接近：沒有段落達到重排序的分數線 {least}。",
        "below": "（得分 {score}，低於分數線 {cutoff}。）",
        "or": "或",
        "next": "、",
    },
}


def statement(question: str) -> str:
    """Return the sentence that the documents do not answer, in the question's language and script.

    >>> statement("誰寫了這本書？")
    '所給資料無法回答這個問題。'
    """
    language = question_language(question)
    return _REFUSAL_TRADITIONAL if language == "zh-Hant" else REFUSAL[language]


def nothing_found(question: str) -> str:
    """Return the reason that the search has no result."""
    return _REASONS[question_language(question)]["nothing found"]


def nothing_asked(question: str) -> str:
    """Return the reason that a question has no word to look for."""
    return _REASONS[question_language(question)]["nothing asked"]


def by_model(text: str) -> str:
    """Return the reason that a language model refused, in the language of its words."""
    return _REASONS[question_language(text)]["by model"]


def all_below(question: str, least: float) -> str:
    """Return the reason that no passage reaches a cut-off on the reranker's score."""
    return _REASONS[question_language(question)]["all below"].format(least=f"{least:.3f}")


def below(question: str, score: float, cutoff: float) -> str:
    """Return by how much passages miss a fitted cut-off, as the end of a reason.

    >>> below("Who?", 0.25, 0.5)
    ' (It scores 0.250, below the cut-off 0.500.)'
    """
    reason = _REASONS[question_language(question)]["below"]
    return reason.format(score=f"{score:.3f}", cutoff=f"{cutoff:.3f}")


def too_little(question: Question, passages: Sequence[Hit], weights: Mapping[str, float]) -> str:
    """Return a reason with the words of the question that no passage has, or a general one.

    `weights` has the idf of the question's content terms.
    """
    reasons = _REASONS[question_language(question.text)]
    missing = [f"“{word}”" for word in missing_words(question, passages, weights)]
    if not missing:
        return reasons["unrelated"]
    *first, last = missing
    words = reasons["or"].join([reasons["next"].join(first), last]) if first else last
    return reasons["missing"].format(words=words)
