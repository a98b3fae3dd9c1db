"""Turn a Chinese sentence with an amount into a question: 多少, 几, 几点, 哪天 replace the amount.

Chinese puts the question word in the place of the answer, so that no other word moves.
"""

from __future__ import annotations

import re
from typing import Final

from ragkit_eval.testset.blanks import Blank
from ragkit_eval.testset.wording import Amount, searchable

CHARS: Final = (8, 46)  # of a question; arbitrary
MAX_COMMAS: Final = 1

_STOPS = "。！？；;\n"
_ENDS = "，。！？；;,\n"
_UNIT = re.compile(
    r"(?:个|個)(?:工作日|月|小时|小時|自然日|日历天|星期|车位|座位|品种|点|點)?|工作日|小时|小時|分钟|分鐘|秒|元|万元"
    r"|天|年|日|月|周岁|周|岁|歲|平方米|立方米|毫米|厘米|公里|千米|米|公斤|千克|毫克|克|毫升|升|摄氏度|℃|°C|度|伏|瓦|人|名"
    r"|位|台|臺|次|册|冊|间|間|倍|层|層|条|條|项|項|份|页|頁|本|批|件|张|張|种|種|块|塊|辆|輛|家|套|组|組|票|字|吨|噸|级|成"
)
_SECOND = re.compile(r"\s?[至到~～\-–—]\s?(\d[\d.:：,]*)")
_FIRST = re.compile(r"[\d点點℃度元日月年天时時][至到~～\-–—]\s?$")
_LISTED = re.compile(r"\d[^，]{0,20}、[^，]{0,20}$")
# Sentences that depend on the previous one, and subordinate clauses.
_LOOSE = re.compile(
    r"^(?:其|该|此|它|则|並|并|但|且|也|又|还|另|同时|同年|逾期|超过|超出|每次|这|那|上述|以上|由于|因为|虽然|尽管"
    r"|如果|当|随着|随著|为了|相反|然后|然後|最后|最後|终于|終於|然而|因此|后来|後來|此后|此後|其后|其後|例如"
    r"|另外|以往|之后|之後|至|于|於|而|在\d|直到|截至|早期|用时)"
)
_LOOSE_CLAUSE = re.compile(
    "，(?:其|该|此|它|但|而|则|也|亦|于|於|之后|随后|终于|终於|共同|以便|因此|所以|使|令|由于)[^，]*$"
)
_RELATIVE = re.compile("[^，]{1,10}的")
_CONDITION = re.compile("(?:的|时|後|后|前|者|内|以上|以下|之内|以内)$")
_DIGIT = re.compile(r"\d")
_MEASURED = re.compile(r"\d\s?[\u4e00-\u9fff]{1,2}$")
_JOINING: Final = frozenset("和及或与與")  # 每周二和周四: the question would ask for one of two
_DATE_WORDS: Final = (
    (re.compile(r"周[一二三四五六日天]"), "周几"),
    (re.compile(r"星期[一二三四五六日天]"), "星期几"),
    (re.compile(r"\d{1,2}月\d{1,2}[日号號]"), "几月几日"),
    (re.compile(r"(?:19|20)\d\d年"), "哪一年"),
    (re.compile(r"\d{1,2}月|十?[一二三四五六七八九]月|十[一二]?月"), "几月"),
)
_WHEN = frozenset({"哪一年", "几月", "几月几日"})
_DIGITS = re.compile(r"[\d.,]+")
_SMALL_NUMBER = re.compile("[一二两兩三四五六七八九十]{1,3}")


def chinese(sentence: str, blank: Blank) -> Amount | None:
    """Turn 水槽长36米。 into 水槽长多少米？; None where the question would not read well."""
    begin = max(sentence.rfind(mark, 0, blank.start) for mark in _STOPS) + 1
    wording = _word_amount(sentence, blank)
    if wording is None:
        return None
    word, end, answer = wording
    until = _clause_end(sentence, end)
    if _CONDITION.search(sentence[end:until]) or (
        until == end and _CONDITION.search(sentence[begin:end])
    ):
        if sentence[until : until + 1] != "，":
            return None
        until = _clause_end(sentence, until + 1)
    head, tail = sentence[begin : blank.start], sentence[end:until]
    question = searchable(f"{head}{word}{tail}？")
    fits = CHARS[0] <= len(question) <= CHARS[1] and head.count("，") <= MAX_COMMAS
    partial = (word in _WHEN and _RELATIVE.match(tail)) or (word[0] == "几" and tail[:1] == "的")
    if _DIGIT.search(tail) or partial or {head[-1:], tail[:1]} & _JOINING:
        return None  # the question would give away a part, or stay ambiguous
    loose = _LOOSE.match(head) or _LOOSE_CLAUSE.search(head) or _is_partial(head)
    clear = len(head) >= 2 and not loose and "、" not in tail and tail[:1] != "代"
    if not fits or not clear or any(mark in question for mark in "（）()："):
        return None
    return Amount(question, searchable(answer))


def _is_partial(head: str) -> bool:
    """Tell whether the clause has another amount of the same kind before this one."""
    return bool(_MEASURED.search(head) or _LISTED.search(head))


def _clause_end(sentence: str, start: int) -> int:
    return next((n for n in range(start, len(sentence)) if sentence[n] in _ENDS), len(sentence))


def _word_amount(sentence: str, blank: Blank) -> tuple[str, int, str] | None:
    """Return the question word, the end of what it replaces, and the replaced text."""
    value, tail = sentence[blank.start : blank.end], sentence[blank.end :]
    if _FIRST.search(sentence[: blank.start]):
        return None  # the second half of a range
    second = _SECOND.match(tail)
    if blank.kind == "time":
        end = blank.end + (second.end() if second else 0)
        return "几点到几点" if second else "几点", end, sentence[blank.start : end]
    if blank.kind == "date":
        word = _date_word(value)
        return None if second or not word else (word, blank.end, value)
    if small := _SMALL_NUMBER.match(value):  # with its measure word, as 两个工作日
        unit = value[small.end() :]
        # 四周 is more often "on all sides" than four weeks.
        return (f"几{unit}", blank.end, value) if unit and value != "四周" else None
    return _word_measured(sentence, blank)


def _word_measured(sentence: str, blank: Blank) -> tuple[str, int, str] | None:
    """Return the same for a number in digits with its unit, or a range of numbers."""
    tail = sentence[blank.end :]
    if second := _SECOND.match(tail):
        unit = _UNIT.match(tail[second.end() :])
        end = blank.end + second.end() + (unit.end() if unit else 0)
        word = f"多少{unit[0]}到多少{unit[0]}" if unit else ""
        return (word, end, sentence[blank.start : end]) if word else None
    unit = _UNIT.match(tail)
    if unit is None or not _DIGITS.fullmatch(sentence[blank.start : blank.end]):
        return None
    next_character = tail[unit.end() : unit.end() + 1]
    if next_character and next_character in "至到~～-–—":
        return _word_range(sentence, blank, unit[0])
    end = blank.end + unit.end()
    word = "几" if unit[0] in {"日", "月", "级"} else "多少"
    return f"{word}{unit[0]}", end, sentence[blank.start : end]


def _word_range(sentence: str, blank: Blank, unit: str) -> tuple[str, int, str] | None:
    """Read 22℃至24℃ as one amount."""
    start = blank.end + len(unit)
    second = _SECOND.match(sentence[start:])
    if second is None or not sentence.startswith(unit, start + second.end()):
        return None
    end = start + second.end() + len(unit)
    return f"多少{unit}到多少{unit}", end, sentence[blank.start : end]


def _date_word(value: str) -> str:
    return next((word for pattern, word in _DATE_WORDS if pattern.fullmatch(value)), "")
