"""What kind of answer a question expects, and whether a sentence holds something of that kind.

Cue words and shapes only, English and both Chinese scripts; it knows nothing of meaning.
"""

import re
from typing import Literal

Kind = Literal["why", "when", "count", "who", "where", "name"]

# Chinese cues stand in both scripts; longer ones first, since the first alternative wins.
INTERROGATIVE = re.compile(
    r"为什么|為什麼|为何|為何|什么时候|什麼時候|什么|什麼|何时|何時|何年|何地|何处|何處|何人|多少|几|幾"
    r"|哪里|哪裡|哪裏|哪儿|哪兒|哪|谁|誰|怎么样|怎麼樣|怎样|怎樣|怎么|怎麼|如何|是否|吗|嗎|呢"
    r"|\b(?:who|whom|whose|what|when|where|which|why|how)\b",
    re.IGNORECASE,
)

_ASKED: dict[Kind, re.Pattern[str]] = {
    "why": re.compile(r"为什么|為什麼|为何|為何|什[么麼]原因|\bwhy\b", re.I),
    "when": re.compile(
        r"什么时候|什麼時候|何时|何時|何年|哪一?[年月日天]|[几幾][年月日]|什么时间|什麼時間|什[么麼]年代"
        r"|哪[个個]时期|哪[个個]時期|\bwhen\b|\b(?:what|which) (?:year|date|day|month|century)\b",
        re.I,
    ),
    "count": re.compile(
        r"多少|[几幾]|多[高大长長远遠重]"
        r"|\bhow (?:many|much|long|old|far|big|tall|large|high|often)\b",
        re.I,
    ),
    "who": re.compile(r"谁|誰|哪位|何人|什[么麼]人|\bwho(?:m|se)?\b", re.I),
    "where": re.compile(
        r"哪里|哪裡|哪裏|哪儿|哪兒|何地|何处|何處|什么地方|什麼地方|\bwhere\b", re.I
    ),
    "name": re.compile(
        r"[叫称稱名](?:什[么麼]|做什[么麼]|[为為]什[么麼])|别名|別名|俗称|俗稱|又名"
        r"|\b(?:called|named|nickname|known as|name of)\b",
        re.I,
    ),
}

_YEAR = "元〇零一二三四五六七八九十"
_NUMERAL = "零〇一二三四五六七八九十百千万萬亿億两兩"
# A run of digits is tried from its beginning only: from each of them it would be quadratic.
_HOLDS: dict[Kind, re.Pattern[str]] = {
    "why": re.compile(
        r"因[为為此而]|由[于於]|所以|故|原因|[为為]了"
        r"|\b(?:because|due to|since|therefore|result|caus(?:e|es|ed)|so that|in order to"
        r"|reason)\b",
        re.I,
    ),
    "when": re.compile(
        rf"\d{{3,4}}\s*年|\b(?:1\d|20)\d\d\b|(?<!\d)\d++\s*+[月日]|(?<![{_YEAR}])[{_YEAR}]++年"
        r"|世[纪紀]|年[代间間]"
        r"|[春夏秋冬朝]|[时時]期|\b(?:january|february|march|april|may|june|july|august|september"
        r"|october|november|december|century|bc|ad|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
        re.I,
    ),
    "count": re.compile(
        rf"\d+(?:[.,]\d+)*|(?<![{_NUMERAL}])[{_NUMERAL}]++"
        r"(?=[个個名位人岁歲年月日天次座所部家公英米平种種条條只隻台级級层層元港美吨噸届屆])"
        r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred"
        r"|thousand|million|billion|dozen|half|once|twice)\b",
        re.I,
    ),
    # A capitalised word that does not open its sentence; Chinese marks foreign names alone.
    "who": re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+|[\u4e00-\u9fff]·[\u4e00-\u9fff]"),
    "where": re.compile(
        r"位[于於]|坐落|分[布佈]|[省市县縣区區州岛島镇鎮村路街站国國洋]"
        r"|\b(?:located|situated|(?:in|at|near|from) [A-Z])"
    ),
    "name": re.compile(
        r"又名|[又亦别別俗简簡][称稱]|别名|別名|也叫|[称稱][为為]|原名|本名|名[叫为為]"
        r"|\b(?:called|named|nicknamed|known as|dubbed)\b",
        re.I,
    ),
}
_CUE_ALONE: frozenset[Kind] = frozenset({"why", "name"})


def expected(question: str) -> frozenset[Kind]:
    """Say what kinds of answer a question asks for; usually one or none.

    >>> sorted(expected("谁在哪一年建了这座桥？")), sorted(expected("Describe the bridge."))
    (['when', 'who'], [])
    """
    return frozenset(kind for kind, cue in _ASKED.items() if cue.search(question))


def holds(sentence: str, kinds: frozenset[Kind], question: str) -> bool:
    """Tell whether a sentence holds an answer of one of the kinds that the question does not.

    >>> holds("The bridge opened in 1932.", frozenset({"when"}), "When did the bridge open?")
    True
    """
    asked = question.casefold()
    return any(
        kind in _CUE_ALONE or match.group().casefold() not in asked
        for kind in kinds
        for match in _HOLDS[kind].finditer(sentence)
    )
