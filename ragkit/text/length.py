"""How many tokens a text is, estimated without any tokenizer. It knows nothing of models."""

from __future__ import annotations

import re

from ragkit.text.analyse import CJK

_ONE_TOKEN = re.compile(rf"[\d{CJK}\u3000-\u303f\uff00-\uffef]")


def estimate_tokens(text: str) -> int:
    """Estimate a text's tokens without its tokenizer, rather too many than too few.

    One per digit and per Chinese, Japanese or Korean character, one per three others: a cautious
    rule of thumb, so that the budget holds whatever model is asked.

    >>> estimate_tokens("航空 abcdef")
    5
    """
    single = len(_ONE_TOKEN.findall(text))
    return single + -(-(len(text) - single) // 3)
