"""Chinese questions that a text seems to answer: from its sentences and headings.

Nothing is searched here. Whether a question is answered is for whoever suggests it to find out.
"""

from __future__ import annotations

import re
from typing import Final

_UNIT: Final = (
    r"个?工作日|个?小时|个月|个?星期|周岁|万元|亿元|平方米|公里|千米|厘米|毫米|公斤|千克|毫升|摄氏度"
    r"|天|日|年|周|分钟|秒|元|米|克|吨|升|度|人|名|位|台|次|本|件|页|转|级|层|间|家|条|项|个"
)
_FIGURE: Final = re.compile(
    rf"(?!四周)(?<![\d.第年月])(\d[\d,.]*|[二三四五六七八九十百千两]+)(?=(?:{_UNIT}))"
)
_PERCENT: Final = re.compile(r"\d[\d.]*[%％]|百分之[一二三四五六七八九十百零点\d]+")
_DATE: Final = re.compile(r"\d{1,4}(?:年|月|日|号)|[:：]\d\d|第[\d一二三四五六七八九十]+")
_CLAUSE: Final = re.compile(r"[，,；;：:。！？!?\n（）()]")
# A clause that needs what stands before it.
_DEPENDENT: Final = re.compile(
    r"[该其它此这并且但而或则即也另如若因以为按由请应须可不超当最满共约第]|提前|原则上|其中|同时|之后|以后|优先|申请"
)
_UNFINISHED: Final = re.compile(r"、|(?:以内|以上|以下|超过.*)的|[的内后前时]$|[至到]\s*\d")
# A first clause that only says when: the sentence's subject follows it.
_TIME: Final = re.compile(r"[自从截凡在]")
_DEFINITION: Final = re.compile(r"([^，,。；：:“”（）()\s]{2,12}?)(?:是指|指的是|是一种|是一个)")
_NUMBERING: Final = re.compile(
    r"^(?:第[一二三四五六七八九十\d]+[章节条][、\s]*|[一二三四五六七八九十]+、|[\d.]+[、.\s]\s*)"
)
_RULES: Final = re.compile("(?:制度|规定|规范|规则|办法|须知|条例|守则|章程)$")
DULL: Final = re.compile(
    "(?:概述|概要|简介|引言|前言|总则|附则|目录|附录.*|参考文献|其他|其它|备注|说明|总结|背景|适用范围|目的"
    "|版本|更新记录|示例|注意事项|常见问题|联系我们|联系方式)"
)
SHORTEST: Final = 8  # characters of a question that can be understood by itself; by judgement
LONGEST: Final = 34


def from_sentence(sentence: str) -> tuple[str, str]:
    """Ask for the figure of a sentence, or what it defines: (figure, definition), "" for none.

    >>> from_sentence("入职满一年的员工每年享有8天带薪年假。")
    ('入职满一年的员工每年享有多少天带薪年假？', '')
    >>> from_sentence("年终奖是指每年一月发放的奖金。")
    ('', '什么是年终奖？')
    """
    first, *clauses = _CLAUSE.split(sentence)
    second = clauses[:1] if _TIME.match(first) else []
    figure = next(filter(None, map(_figure, [first, *second])), "")
    match = _DEFINITION.match(sentence)
    is_definition = match is not None and not _DEPENDENT.match(match[1])
    return figure, f"什么是{match[1]}？" if match and is_definition else ""


def from_heading(heading: str, title: str) -> str:
    """Ask about a section.

    >>> from_heading("年假", "休假制度"), from_heading("安装", "水泵手册")
    ('关于年假有什么规定？', '关于安装有哪些说明？')
    """
    heading = _NUMBERING.sub("", heading)
    if not re.search("[\u4e00-\u9fff]", heading) or DULL.fullmatch(heading):
        return ""
    return f"关于{heading}有{'什么规定' if _RULES.search(title) else '哪些说明'}？"


def from_title(title: str) -> str:
    """Ask what a document is about."""
    return f"《{title}》讲了什么？"


def _figure(clause: str) -> str:
    """Ask for a clause's number where it stands; "" for a clause that cannot be asked alone."""
    clause = clause.strip()
    if any(pattern.search(clause) for pattern in (_DATE, _UNFINISHED)) or _DEPENDENT.match(clause):
        return ""
    if match := _PERCENT.search(clause):
        question = f"{clause[: match.start()]}百分之多少{clause[match.end() :]}"
    elif match := _FIGURE.search(clause):
        question = f"{clause[: match.start()]}多少{clause[match.end() :]}"
    else:
        return ""
    preceding = re.findall("[\u4e00-\u9fff]", clause[: match.start()])
    return f"{question}？" if len(preceding) >= 2 and SHORTEST <= len(question) <= LONGEST else ""
