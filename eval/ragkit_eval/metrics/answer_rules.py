"""Normalise an answer by the rules of SQuAD or CMRC 2018.

Both follow the evaluation script of their data set.
"""

import re
import string
from collections.abc import Sequence
from typing import Literal, get_args

from ragkit.errors import UsageError
from ragkit_eval.metrics.words import is_chinese

Rules = Literal["auto", "squad", "cmrc"]

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_SQUAD_REMOVED = str.maketrans("", "", string.punctuation)
# CMRC's list has the ellipsis as two characters, which a comparison by character never matches.
_CMRC_MARKS = "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"
_CMRC_REMOVED = str.maketrans("", "", _CMRC_MARKS)
_HAN = "\u4e00-\u9fa5"  # the range that CMRC's script splits
# A word between Chinese characters: figures, dots and hyphens within it belong to it.
_WORD = rf"(?:(?![{_HAN}])\w)"
_CMRC_TOKEN = re.compile(rf"[{_HAN}]|{_WORD}+(?:[.,/'&]{_WORD}+)*|[^\w\s]")


def rules_for(prediction: str, references: Sequence[str], rules: Rules) -> Literal["squad", "cmrc"]:
    """Choose CMRC's rules where the prediction or a reference is Chinese, for "auto"."""
    if rules not in get_args(Rules):
        raise UsageError(f"unknown rules {rules!r}: choose {', '.join(get_args(Rules))}")
    if rules == "auto":
        return "cmrc" if is_chinese(prediction, *references) else "squad"
    return rules


def rules_name(rules: Rules) -> str:
    """Name rules in a signature."""
    return "squad-or-cmrc-by-script" if rules == "auto" else rules


def squad_answer(text: str) -> str:
    """Lower the case, drop ASCII punctuation and English articles, and unify white space.

    Source: evaluate-v2.0.py, Rajpurkar et al. 2018, https://aclanthology.org/P18-2124.

    >>> squad_answer("The  U.S. Senate!")
    'us senate'
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_SQUAD_REMOVED)).split())


def cmrc_answer(text: str) -> str:
    """Lower the case and drop the marks of CMRC's list.

    Source: cmrc2018_evaluate.py, Cui et al. 2019, https://aclanthology.org/D19-1600.

    >>> cmrc_answer("《红楼梦》。")
    '红楼梦'
    """
    return text.lower().strip().translate(_CMRC_REMOVED)


def cmrc_tokens(text: str) -> list[str]:
    """Split an answer without CMRC's marks into Chinese characters and the words between them.

    The script splits the text between Chinese characters by NLTK's English tokenizer; this splits
    it into words and single marks. Of the 3,970 distinct answers of CMRC's development set, 20 get
    different tokens, such as "a." for an initial.

    >>> cmrc_tokens("《BM25 算法》")
    ['bm25', '算', '法']
    """
    return _CMRC_TOKEN.findall(cmrc_answer(text))
