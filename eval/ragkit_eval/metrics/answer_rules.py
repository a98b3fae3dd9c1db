"""How SQuAD and CMRC 2018 read an answer before they compare it.

Two sets of rules, each as its evaluation script has it; it knows nothing of scores.
"""

import re
import string
from collections.abc import Sequence
from typing import Literal, get_args

from ragkit.errors import UsageError
from ragkit_eval.metrics.words import is_cjk

Rules = Literal["auto", "squad", "cmrc"]

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_SQUAD_REMOVED = str.maketrans("", "", string.punctuation)
# CMRC's list names the ellipsis as two characters, which its comparison by character never meets.
_CMRC_MARKS = "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"
_CMRC_REMOVED = str.maketrans("", "", _CMRC_MARKS)
_HAN = "\u4e00-\u9fa5"  # the range that CMRC's script splits
# A word between Chinese characters: figures, dots and hyphens within it belong to it.
_WORD = rf"(?:(?![{_HAN}])\w)"
_CMRC_TOKEN = re.compile(rf"[{_HAN}]|{_WORD}+(?:[.,/'&]{_WORD}+)*|[^\w\s]")


def rules_for(references: Sequence[str], rules: Rules) -> Literal["squad", "cmrc"]:
    """Choose CMRC's rules where CJK characters outnumber other words, for "auto"."""
    if rules not in get_args(Rules):
        raise UsageError(f"there are no rules {rules!r}: choose {', '.join(get_args(Rules))}")
    if rules == "auto":
        return "cmrc" if is_cjk(" ".join(references)) else "squad"
    return rules


def squad_answer(text: str) -> str:
    """Lower the case, drop ASCII punctuation and English articles, and unify white space.

    Source: evaluate-v2.0.py, Rajpurkar et al. 2018, https://aclanthology.org/P18-2124.

    >>> squad_answer("The  U.S. Senate!")
    'us senate'
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_SQUAD_REMOVED)).split())


def cmrc_answer(text: str) -> str:
    """Lower the case and drop CMRC's list of marks.

    Source: cmrc2018_evaluate.py, Cui et al. 2019, https://aclanthology.org/D19-1600.

    >>> cmrc_answer("《红楼梦》。")
    '红楼梦'
    """
    return text.lower().strip().translate(_CMRC_REMOVED)


def cmrc_tokens(text: str) -> list[str]:
    """Split an answer, CMRC's marks dropped, into Chinese characters and words between them.

    The script splits what stands between by NLTK's English tokenizer; this splits it into words
    and single marks. Of the 3,970 different answers of CMRC's development set, 20 come out with
    other tokens, such as "a." for an initial.

    >>> cmrc_tokens("《BM25 算法》")
    ['bm25', '算', '法']
    """
    return _CMRC_TOKEN.findall(cmrc_answer(text))
