"""The kinds of answer that a question expects, and whether a sentence holds one.

It goes by cue words and shapes, in English and both Chinese scripts.
"""

import re
from typing import Literal

from ragkit.text.variants import fold_variants

Kind = Literal[
    "why",
    "when",
    "count",
    "who",
    "where",
    "name",
    "phone",
    "extension",
    "email",
    "address",
    "money",
]

# Chinese cues stand in both scripts; longer ones first, since the first alternative wins.
INTERROGATIVE = re.compile(
    r"为什么|為什麼|为啥|為啥|为何|為何|凭啥|憑啥|啥时候|啥時候|啥|咋|什么时候|什麼時候|什么|什麼|何时|何時|何年|何地|何处|何處|何人|多少|几|幾"
    r"|哪里|哪裡|哪裏|哪儿|哪兒|哪|谁|誰|怎么样|怎麼樣|怎样|怎樣|怎么|怎麼|如何|是否|吗|嗎|呢"
    r"|\b(?:who|whom|whose|what|when|where|which|why|how)\b",
    re.IGNORECASE,
)

# The end of a question; a follow-up has words of the question before in brackets behind it.
_END = r"(?:\W*$|\s*[?？(])"
# An amount asked for in Chinese, whose words of money alone may ask for something else; in
# simplified script, into which questions are folded.
_HOW_MUCH_MONEY = (
    rf"多少[钱元块]|几块钱|贵不贵|[啥么]价(?!值)|咋卖|怎么卖呢?{_END}"
    rf"|(?:价格|价钱|费用|租金|押金|工资|薪水|票价|房租|月租|学费|会费|运费)(?:[^，。？]{{0,6}}多少|呢?{_END})"
)
_CUES: dict[Kind, re.Pattern[str]] = {
    "why": re.compile(r"为什么|為什麼|为啥|為啥|凭啥|憑啥|为何|為何|什[么麼]原因|\bwhy\b", re.I),
    "when": re.compile(
        r"什么时候|什麼時候|啥时候|啥時候|何时|何時|何年|哪一?[年月日天]|[几幾][年月日]|什么时间|什麼時間|什[么麼]年代"
        r"|哪[个個]时期|哪[个個]時期|[几幾][点點]|[几幾]号到|\bwhen\b|\bhow late\b|\bhow early\b"
        r"|\b(?:what|which) (?:year|date|day|month|century|time)\b|\b(?:opening )?hours\b",
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
    "phone": re.compile(
        r"电话|電話|手机|手機|热线|熱線|传真|傳真|联系方式|聯繫方式"
        r"|\b(?:phone|telephone|mobile|cell|fax|hotline)\b",
        re.I,
    ),
    "extension": re.compile(r"分机|分機|\b(?:extension|ext)\b", re.I),
    "email": re.compile(r"邮箱|郵箱|电邮|電郵|邮件地址|\be-?mail\b", re.I),
    "address": re.compile(r"地址|住址|哪条[路街]|\b(?:address|street|postcode)\b", re.I),
    "money": re.compile(
        rf"{_HOW_MUCH_MONEY}|价格|價格|价钱|費用|费用|租金|押金|工资|工資|薪水|几折|幾折"
        r"|\bhow much (?:is|are|was|were|do|does|did|will|would|should|must|can|for|to|money)\b"
        r"(?![^?]{0,60}\b(?:weigh|hold|contain)s?\b)|\bhow much\W*$"
        r"|\b(?:costs?|price|fees?|rent|deposit|salary|charged?|paid?|fine|fare)\b",
        re.I,
    ),
}

_YEAR = "元〇零一二三四五六七八九十"
_NUMERAL = "零〇一二三四五六七八九十百千万萬亿億两兩"
_NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w{2,6}teen|\w{2,5}ty"
    r"|hundred|thousand|million|billion|dozen|half|double)"
)
_NUMBER = re.compile(rf"\d|[{_NUMERAL}半]|\b{_NUMBER_WORD}\b", re.I)
# A run of digits is tried from its beginning only: trying each digit would be quadratic.
_SHAPES: dict[Kind, re.Pattern[str]] = {
    "why": re.compile(
        r"因[为為此而]|由[于於]|所以|故|原因|[为為]了"
        r"|\b(?:because|due to|since|therefore|result|caus(?:e|es|ed)|so that|in order to"
        r"|reason)\b",
        re.I,
    ),
    "when": re.compile(
        rf"\d{{3,4}}\s*年|\b(?:1\d|20)\d\d\b|(?<!\d)\d++\s*+[月日]|(?<![{_YEAR}])[{_YEAR}]++年"
        r"|世[纪紀]|年[代间間]"
        r"|[春夏秋冬朝]|[时時]期|\d[:：]\d\d|\d\s?(?:[ap]\.?m\b|o'clock)|[\d一二三四五六七八九十][点點]"
        r"|周[一二三四五六日天末]|星期|每[天周週月年]|\b(?:noon|midnight)\b|\b(?:january|february|march|april|may|june|july|august|september"
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
    # A capitalised word inside a sentence; Chinese marks only foreign names.
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
    "phone": re.compile(r"(?<![\d.,])\+?\(?\d(?:[ ()/-]{0,2}\d){6,14}(?!\d)"),
    "extension": re.compile(r"(?<![\d.,])\d{3,6}(?![\d.,]\d|\d)"),
    "email": re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.\w"),
    "address": re.compile(
        r"\d号|\d號|[路街巷村区區市县縣][\d一二三四五六七八九十]"
        r"|\b\d{1,5}[A-Za-z]? [A-Z]\w+|\b(?:Street|Road|Lane|Avenue|Square|Park|Row|Drive)\b"
    ),
    "money": re.compile(
        r"[€£$¥￥]\s?\d|\d\s?(?:€|£|元|块|塊|圆|角|万|%|％|折)|[一二三四五六七八九]折|免费|免費"
        rf"|[{_NUMERAL}半][元块塊圆]|(?:\d|\b{_NUMBER_WORD})[\s-]?"
        r"(?:euros?|dollars?|pounds?|pence|cents?|yuan|usd|eur|gbp|rmb|per ?cent)\b"
        r"|\b(?:free|half price|no charge|at cost)\b",
        re.I,
    ),
}
# What asks for nothing but an amount, a phone number or an e-mail address, in simplified script.
_DEMANDS: dict[Kind, re.Pattern[str]] = {
    "money": re.compile(
        rf"{_HOW_MUCH_MONEY}"
        r"|\bhow much (?:money|(?:is|are|was|were)\b(?! (?:left|needed|too))|for\b)"
        r"|\bhow much\b[^?]{0,80}\b(?:costs?|pay|paid|charged?|spen[dt]|owe|earn)\b"
        rf"|\bhow much{_END}|\b(?:costs?|price|fares?|fees?|rent|deposit){_END}"
        r"|\b(?:price|cost) (?:of|for|per)\b"
        r"|\bwhat(?:'?s| is| are| was| were) (?:the |your |their |his |her |its )?(?:\w+ ){0,2}"
        r"(?:price|cost|fees?|fare|rent|deposit|salary|charge)\b(?! for\b)"
        r"|\bwhat (?:does|do|did|will|would) [^?]{1,60}\bcost\b",
        re.I,
    ),
    "phone": re.compile(
        rf"(?:电话|手机)号|(?<![打接用通])(?:电话|热线|传真|联系方式)[是为有]?(?:多少|几|啥|什么|没有|呢)*{_END}"
        r"|哪[个支部]电话|打(?:哪|什么|几)[^，。？]{0,4}电话"
        r"|\b(?:phone|telephone|mobile|cell(?: ?phone)?|fax|hotline) ?(?:numbers?|no|nr)\b"
        rf"|\bwhat(?:'?s| is) [^?]{{0,40}}\b(?:phone|telephone|hotline){_END}",
        re.I,
    ),
    "email": re.compile(
        rf"(?:邮箱|电邮|邮件地址)(?:地址)?[是为有]?(?:多少|啥|什么|哪个|没有|呢)*{_END}"
        rf"|\bwhat(?:'?s| is| are| was) [^?]{{0,60}}\be-?mail{_END}|\be-?mail address\b"
        r"|\bwhich e-?mail\b",
        re.I,
    ),
}
_YES_OR_NO = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|can|could|may|must|has|have|had|will|would|should)\b", re.I
)
# What speaks of such an answer, whatever it is.
_SPEAKS_OF: dict[Kind, re.Pattern[str]] = {
    "money": re.compile(
        r"[钱费价租薪免付卖]|押金|工资|\b(?:pric|cost|fee|fare|rent|deposit|charg|pay|paid|salar|free"
        r"|euro|dollar|pound|pence|cent|yuan|franc|yen|crown)\w*",
        re.I,
    ),
    "phone": re.compile(
        r"电话|手机|热线|传真|拨打|致电|号码|联系|\b(?:phone|telephone|mobile|cell|fax|hotline|call|ring"
        r"|dial|tel|number)\b",
        re.I,
    ),
    "email": re.compile(r"邮箱|电邮|邮件|@|\be-?mail\b", re.I),
}
# A price on a list: "Cake 12", "Cake: 12", "2.50", a cell of a table.
_LISTED_PRICE = re.compile(rf"\d[.,]\d\d(?!\d)|(?<!\d)[:：|]\s*\d|[\d{_NUMERAL}]\s*$", re.M)
_CUE_ALONE: frozenset[Kind] = frozenset({"why", "name"})
# "Who pays the rent?" asks for no amount; an amount or a phone number is more than a count.
_HOW_MUCH = re.compile(r"多少|[几幾]折|\bhow much\b", re.I)
_OVER_MONEY: frozenset[Kind] = frozenset({"who", "when", "why", "where", "phone", "email"})
_SPECIFIC: frozenset[Kind] = frozenset({"phone", "extension", "email", "address", "money"})
_COUNTS: frozenset[Kind] = frozenset({"count", "who", "name", "where"})


def expected_kinds(question: str) -> frozenset[Kind]:
    """Return the kinds of answer that a question asks for; usually one or none.

    >>> sorted(expected_kinds("谁在哪一年建了这座桥？"))
    ['when', 'who']
    >>> sorted(expected_kinds("Describe the bridge."))
    []
    """
    question = fold_variants(question)
    kinds = frozenset(kind for kind, cue in _CUES.items() if cue.search(question))
    if "money" in kinds and not _HOW_MUCH.search(question) and kinds & _OVER_MONEY:
        kinds -= {"money"}
    return kinds - _COUNTS if kinds & _SPECIFIC else kinds


def has_answer(sentence: str, kinds: frozenset[Kind], question: str) -> bool:
    """Tell whether a sentence holds an answer of one of the kinds that the question does not.

    >>> has_answer("The bridge opened in 1932.", frozenset({"when"}), "When did the bridge open?")
    True
    """
    folded, sentence = fold_variants(question.casefold()), fold_variants(sentence)
    return any(
        kind in _CUE_ALONE or match.group().casefold() not in folded
        for kind in kinds
        for match in _SHAPES[kind].finditer(sentence)
    )


def demanded_kind(question: str, kinds: frozenset[Kind]) -> Kind | None:
    """Return the kind that alone answers a question: money, phone or email; None for most.

    `kinds` are those that it expects.

    >>> question = "How much is a cake?"
    >>> demanded_kind(question, expected_kinds(question))
    'money'
    """
    if len(kinds) != 1 or _YES_OR_NO.match(question):
        return None
    (kind,) = kinds
    demand = _DEMANDS.get(kind)
    return kind if demand and demand.search(fold_variants(question)) else None


def may_answer(sentence: str, kind: Kind, passage: str) -> bool:
    """Tell whether a sentence of a passage may hold an answer of a demanded kind.

    It may also only speak of one, have a number in a passage that does, or look like a price on a
    list. `passage` is the text with its headings and title.

    >>> may_answer("Open at seven.", "money", "Open at seven. A loaf is 4 euros.")
    True
    >>> may_answer("Open at seven.", "money", "Open at seven. Closed on Mondays.")
    False
    """
    sentence = fold_variants(sentence)
    if _SHAPES[kind].search(sentence) or _SPEAKS_OF[kind].search(sentence):
        return True
    if kind == "money" and _LISTED_PRICE.search(sentence):
        return True
    if kind == "email" or not _NUMBER.search(sentence):
        return False
    return _SPEAKS_OF[kind].search(fold_variants(passage)) is not None
