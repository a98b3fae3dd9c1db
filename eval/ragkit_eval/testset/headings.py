"""Make questions from headings, as a person would ask who does not know the section.

Such a question has no short answer: the section is labelled. A heading that cannot be worded as a
question gives none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ragkit.prompts.templates import PromptLanguage
from ragkit.question.reading import read_question
from ragkit.text.analyse import analyse
from ragkit.types import Span
from ragkit_eval.sets import Question
from ragkit_eval.testset import label
from ragkit_eval.testset.outline import Section, sections, title_of
from ragkit_eval.testset.sources import Source, drawn, language_of
from ragkit_eval.testset.wording import is_in, mid_sentence, with_topic

if TYPE_CHECKING:
    from ragkit_eval.testset.absent import Collected

MIN_CHARS: Final = {"en": 80, "zh": 30}  # characters of a section's own text; arbitrary
MAX_CHARS: Final = 2_500  # longer sections answer many questions; arbitrary

_DULL = re.compile(
    r"(?:introduction|overview|summary|general(?: information)?|contents|table of contents|notes?"
    r"|appendix|annex|references?|further reading|see also|other|miscellaneous|background|scope"
    r"|purpose|conclusions?|abstract|changelog|history|version|about|faq|afterwards|example|examples|welcome"
    r"|概述|概要|简介|簡介|引言|前言|总则|總則|附则|附則|目录|目錄|附录|附錄|参考文献|其他|其它|备注|说明|總結|总结|背景"
    r"|适用范围|目的|版本|更新记录|示例|示例代码|注意事项)",
    re.IGNORECASE,
)
_WHEN = re.compile(r"(?:when|if|after|before|during) [^?]{3,80}", re.IGNORECASE)
_HOW_TO = re.compile(r"how to ([a-z][^?]{3,80})", re.IGNORECASE)
_HOW_DONE = re.compile(
    r"how ((?:an? |the )?[\w-]+(?: [\w-]+)?) (is|are) ([a-z]+(?: [a-z ]{2,40})?)", re.IGNORECASE
)
_WH = re.compile(
    r"(?:who|what) (?:may|can|must|should|is|are|pays|needs|counts|happens|does)\b[^?,]{2,80}",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\b(?:who|what|how|where|why|which|is|are|was|were|and|or|we|you|our)\b", re.I
)
_RULES = re.compile(
    "(?:制度|规定|規定|规范|規範|规则|規則|办法|辦法|须知|須知|条例|條例|守则|章程)$"
)
_ZH_DO = re.compile(
    "^(?:预约|預約|申请|申請|办理|辦理|报销|報銷|借阅|借書|借书|续借|安装|安裝|更换|更換|登记|登記|注册|註冊|退还"
    "|退換|退换|投诉|投訴|报名|報名|充电|停车|订购|訂購|使用|购买|購買|请假|請假|注销)"
)
_ZH_NO_DO = re.compile(
    "(?:流程|条件|期限|规定|标准|時間|时间|要求|方式|费用|人员|范围|数量|资格|安全)$"
)


def heading_questions(collected: Collected, source: Source, seed: int) -> Iterator[Question | str]:
    """Yield questions for sections whose heading no other document has, in a drawn order."""
    title = title_of(source)
    for section in sorted(
        sections(source.text), key=lambda section: drawn(seed, "section", section.heading)
    ):
        body = source.text[section.start : section.end].strip()
        language = language_of(f"{section.heading}. {body}", source.document)
        if language is None or not MIN_CHARS[language] <= len(body) <= MAX_CHARS:
            yield "a section that is too short or too long"
            continue
        text = heading_question(section, title, language, source.text)
        if not text:
            yield "a heading that cannot be asked for well"
        elif not _is_only(collected, source, section):
            yield "another heading says the same"
        else:
            start = source.text.index(body, section.start)
            yield _make_question(source, Span(start, start + len(body)), text, language)


def heading_question(section: Section, title: str, language: PromptLanguage, text: str) -> str:
    """Turn a section's heading into a question; "" if it cannot be worded well.

    >>> heading_question(Section("When the refrigerator fails", (), 0, 0), "", "en", "")
    'What should I do when the refrigerator fails?'
    >>> heading_question(Section("逾期和赔偿", ("借阅规则",), 0, 0), "借阅规则", "zh", "")
    '按照借阅规则，逾期和赔偿是怎么规定的？'
    """
    heading = section.heading
    if _DULL.fullmatch(heading) or len(heading) > 60 or not is_in(language, heading):
        return ""
    if not section.above and heading == title:
        return ""  # the document's title names no part of it
    return (
        _word_chinese(heading, title) if language == "zh" else _word_english(heading, title, text)
    )


def _word_english(heading: str, title: str, text: str) -> str:
    topic = mid_sentence(title, text) if is_in("en", title) else ""
    if question := _complete_question(heading):
        return with_topic(question, topic if len(read_question(question).content) < 3 else "", "en")
    if _CLAUSE.search(heading) and not re.fullmatch(r"[\w-]+ and [\w-]+", heading):
        return ""
    subject = mid_sentence(heading, text)
    is_covered = set(analyse(topic)) <= set(analyse(heading))
    if is_covered or len(heading.split()) > 2:
        return f"What should I know about {subject}?"
    return f"What should I know about {subject} when it comes to {topic}?"


def _complete_question(heading: str) -> str:
    """Turn a heading that is nearly a question into one; "" for any other."""
    if _WHEN.fullmatch(heading):
        return f"What should I do {heading[:1].lower()}{heading[1:]}?"
    if match := _HOW_TO.fullmatch(heading):
        return f"How do I {match[1]}?"
    if match := _HOW_DONE.fullmatch(heading):
        return f"How {match[2].lower()} {match[1]} {match[3]}?"
    return f"{heading}?" if _WH.fullmatch(heading) else ""


def _word_chinese(heading: str, title: str) -> str:
    if _ZH_DO.match(heading) and not _ZH_NO_DO.search(heading) and len(heading) <= 12:
        return with_topic(f"怎么{heading}？", title if len(heading) < 4 else "", "zh")
    if title and _RULES.search(title) and heading not in title:
        return f"按照{title}，{heading}是怎么规定的？"
    return f"关于{heading}有哪些规定？"


def _is_only(collected: Collected, source: Source, section: Section) -> bool:
    """Tell whether no other document has a heading with the same words."""
    terms = frozenset(analyse(section.heading))
    if not terms:
        return False
    return not any(
        hit.document != source.document.id and terms <= set(analyse(heading))
        for hit in collected.passages_with(terms)
        for heading in (hit.title, *hit.headings)
    )


def _make_question(source: Source, span: Span, text: str, language: PromptLanguage) -> Question:
    return label.answerable(
        source.document.uri,
        text,
        answer="",
        span=span,
        quote="",
        language=language,
        kind="heading",
    )
