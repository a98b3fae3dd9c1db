"""Count the words that deny or forbid something, in English and Chinese.

Neither what is denied nor opposites such as open and shut are considered.
"""

import re

_DENIAL = re.compile(
    # Words with a character of denial that deny nothing come first, so that they are skipped.
    r"(?P<plain>不[仅僅但過过同少断斷久論论管只满滿]|不得不|非[常洲]|未[来來]|[无無][论論线線]|别墅|別墅"
    r"|[分特个個级級性区區名类類识識差][别別]|免得)"
    r"|\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|forbidden|banned|prohibited"
    r"|excluded|refused?|denied|unable|fail(?:s|ed)?|lacks?|barred|rejected)\b"
    r"|n['’]t\b"
    r"|[不没沒未无無勿禁免拒]|[并並]非|非(?=[是由])|[别別](?=[让讓把用])",
    re.IGNORECASE,
)


def count_denials(text: str) -> int:
    """Count a text's words of denial.

    >>> [count_denials(text) for text in ("It may not be used, never.", "不仅如此，不得转租。")]
    [2, 1]
    """
    return sum(match["plain"] is None for match in _DENIAL.finditer(text))
