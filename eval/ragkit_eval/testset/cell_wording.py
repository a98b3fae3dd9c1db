"""Word the question for a cell of a table, in English and Chinese.

It goes by the forms of headers and values; a cell that it cannot word well gives no question.
"""

from __future__ import annotations

import re
from typing import Final

from ragkit.prompts.templates import PromptLanguage
from ragkit.text.analyse import analyse

_PEOPLE = re.compile(
    r"(?:full )?name|person|people|employees?|colleagues?|contacts?(?: person)?|members?|staff"
    r"|姓名|名字|联系人|聯絡人|员工|員工|人员|人員|负责人|負責人|同事|教师|教師|老师|老師|医生|醫生",
    re.IGNORECASE,
)
_PERSON = re.compile(r"[A-ZÀ-Þ][\w'’.-]{0,30}(?: [A-ZÀ-Þ][\w'’.-]{0,30}){1,2}|[\u4e00-\u9fff]{2,4}")
_NO_VALUE = re.compile(
    r"[\s\-–—/.?x✓✔✗√×]*|n/?a|none|no|yes|tbd|无|無|是|否|有|暂无|不详|待定|同上", re.IGNORECASE
)
_DULL = re.compile(
    r"remarks?|notes?|comments?|#|no\.?|nr\.?|number|id|备注|備註|说明|說明|注释|序号|序號|编号|編號",
    re.IGNORECASE,
)
_LEFT_OPEN = re.compile(r"\b(?:within|until|till|from|to|at|of|in|for|on|after|before|per)$", re.I)
_TIME = re.compile(r"\d{1,2}[:：.]\d{2}|\d ?[ap]\.?m\b|\b\w+day\b|[点點]", re.IGNORECASE)
_YEAR = re.compile(r"^(.{2,40}?),? \(?((?:19|20)\d\d)\)?$")
_DURATION = re.compile(
    r"(?:\d+|\w+) (?:\w+ )?(?:minute|hour|day|week|month|year)s?$", re.IGNORECASE
)
_LASTS = re.compile(r"(?:warranty|guarantee|life|period|duration|notice)$", re.IGNORECASE)
_COUNT = re.compile(r"\d[\d,.]*")
_VERBS: Final = {
    "opens": "open",
    "closes": "close",
    "starts": "start",
    "begins": "begin",
    "ends": "end",
    "departs": "depart",
    "arrives": "arrive",
    "leaves": "leave",
}
_WH_HEADERS: Final = {
    **dict.fromkeys(
        ("who", "responsible", "owner", "responsibility"), "Who is responsible for {key}?"
    ),
    **dict.fromkeys(("when", "time", "day", "date"), "When {do} {key} take place?"),
    "where": "Where {be} {key}?",
}
_DONE_BY = re.compile(r"([a-z]{2,20}(?:ed|en|ne|pt|nt|ld|ght)) by", re.IGNORECASE)
_TO_DO = re.compile(r"[A-Za-z][a-z]+ (?:the|an?|all|to|your)\b")  # "Clean the lens"
_MEANS = re.compile(r"meaning|means|definition|含义|含義|意思|定义|定義", re.IGNORECASE)
_VALUE = re.compile(r"values?|数值|數值|值|参数|參數|指标|要求|内容|內容", re.IGNORECASE)
_ZH_WHERE = re.compile(
    "(?:地点|地點|地址|位置|办公室|辦公室|场所|場所|起点|起點|终点|終點|房间|房間|教室)$"
)
_ZH_WHO = re.compile("(?:人|者|员|員|主任|经理|經理|主管|导师)$")
_ZH_WHEN = re.compile("(?:时间|時間|日期|时刻|闭馆日|休息日|开放日|截止)$")
_ZH_RANGE = re.compile(r"\d\s?[至到~～\-–—]\s?\d")
_ZH_OFTEN = re.compile("(?:频率|頻率|频次|周期|週期|间隔|間隔|期限|时长|時長)$")
_ZH_CLOCK = re.compile(r"\d{1,2}[:：]\d{2}|\d[点點]")


def is_people(header: str, keys: list[str]) -> bool:
    """Tell whether a column names persons, by its header and the form of its cells."""
    return bool(_PEOPLE.fullmatch(header)) and all(map(_PERSON.fullmatch, keys))


def askable(value: str) -> bool:
    """Tell whether a cell can be an answer."""
    return len(value) <= 60 and bool(analyse(value)) and not _NO_VALUE.fullmatch(value)


def year_of(header: str) -> str:
    """Return the year at the end or beginning of a header, as in "Limit 2026"; "" without a year.

    >>> year_of("Limit 2026"), year_of("2026年每晚限额"), year_of("Room")
    ('2026', '2026', '')
    """
    match = _YEAR.match(header) or re.match(r"()((?:19|20)\d\d)年.", header)
    return match[2] if match else ""


def cell_question(
    key: str, header: str, value: str, *, language: PromptLanguage, people: bool = False
) -> str:
    """Ask for the cell under `header` in the row of `key`; "" if it cannot be worded.

    >>> cell_question("Li Wei", "Extension", "4711", language="en", people=True)
    "What is Li Wei's extension?"
    >>> cell_question("Dublin", "Limit 2026", "€165", language="en")
    'How much is the limit in 2026 for Dublin?'
    >>> cell_question("李薇", "分机", "8001", language="zh")
    '李薇的分机是多少？'
    """
    if not 2 <= len(header) <= 40 or _DULL.fullmatch(header):
        return ""
    if language == "zh":
        return _word_chinese(key, header, value)
    return _word_for_person(key, header) if people else _word_english(key, header, value)


def whose_question(header: str, value: str, *, language: PromptLanguage) -> str:
    """Ask for the person that a cell belongs to; "" for a cell that suits no such question.

    >>> whose_question("Extension", "4711", language="en")
    'Whose extension is 4711?'
    """
    if not re.search(r"\d", value) or len(value) > 20 or _DULL.fullmatch(header):
        return ""
    if language == "zh":
        return f"{value}是谁的{header}？"
    return f"Whose {_lower_first(header)} is {value}?"


def _word_for_person(key: str, header: str) -> str:
    if _LEFT_OPEN.search(header) or _DONE_BY.fullmatch(header) or header.lower() in _VERBS:
        return ""
    owner = f"{key}'" if key.endswith("s") else f"{key}'s"
    return f"What {'are' if _is_plural(header) else 'is'} {owner} {_lower_first(header)}?"


def _word_english(key: str, header: str, value: str) -> str:
    lower = header.lower()
    do, be = ("do", "are") if _is_plural(key) else ("does", "is")
    if lower in _VERBS:
        return f"When {do} {key} {_VERBS[lower]}?" if _TIME.search(value) else ""
    if done := _DONE_BY.fullmatch(header):
        return f"By whom {be} {key} {done[1].lower()}?"
    if _MEANS.fullmatch(header):
        return f"What {do} {key} mean?"
    if _VALUE.fullmatch(header):
        return f"What {be} the {_lower_first(key)}?"
    if lower in _WH_HEADERS:
        return _WH_HEADERS[lower].format(key=key, do=do, be=be)
    loose = _TO_DO.match(key) or _LEFT_OPEN.search(header)
    return "" if loose else _word_noun(key, _lower_first(header), value)


def _word_noun(key: str, header: str, value: str) -> str:
    if year := _YEAR.match(header):
        header = f"{year[1]} in {year[2]}"
    noun = year[1] if year else header
    if _COUNT.fullmatch(value) and _is_plural(noun.split()[0]):
        return f"How many {header} are there for {key}?"
    if _DURATION.fullmatch(value) and _LASTS.search(noun):
        return f"How long is the {header} for {key}?"
    if value[:1] in "€$£¥":
        return f"How much is the {header} for {key}?"
    return f"What {'are' if _is_plural(noun) else 'is'} the {header} for {key}?"


def _word_chinese(key: str, header: str, value: str) -> str:
    amount = re.search(r"\d", value) is not None
    if _MEANS.fullmatch(header):
        return f"{key}是什么意思？"
    if _VALUE.fullmatch(header):
        return f"{key}是{'多少' if amount else '什么'}？"
    return f"{key}的{header}{_choose_zh_word(header, value, amount=amount)}？"


def _choose_zh_word(header: str, value: str, *, amount: bool) -> str:
    """Return the Chinese question word for a value: where, who, when, how much, what."""
    if _ZH_WHERE.search(header):
        return "在哪里"
    if _ZH_WHO.search(header) and not amount:
        return "是谁"
    if _ZH_OFTEN.search(header):
        return "是多久"
    if _ZH_CLOCK.search(value):
        return "是几点到几点" if _ZH_RANGE.search(value) else "是几点"
    if _ZH_WHEN.search(header):
        return "是什么时候"
    return "是多少" if amount else "是什么"


def _lower_first(header: str) -> str:
    first, *words = header.split(" ")
    return " ".join([first.lower() if first[1:].islower() else first, *words])


def _is_plural(noun: str) -> bool:
    word = noun.rsplit(maxsplit=1)[-1] if noun.split() else ""
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))
