"""Make unanswerable questions for properties that a collection never mentions, such as a birthday.

They ask about a person or a type that the documents name. A property is used only if no passage of
the collection has any of its words, in either language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.prompts.templates import PromptLanguage
from ragkit_eval.sets import Question
from ragkit_eval.testset import label
from ragkit_eval.testset.absent_names import DESIGNATION
from ragkit_eval.testset.places import places
from ragkit_eval.testset.sources import Source, drawn
from ragkit_eval.testset.table_questions import cells

if TYPE_CHECKING:
    from ragkit_eval.testset.absent import Collected


@dataclass(frozen=True, slots=True)
class Property:
    """The wording of a property in each language, and the words that mention it in both."""

    en: str
    zh: str
    words: tuple[str, ...]


OF_PEOPLE: Final = (
    Property(
        "When is {}'s birthday?",
        "{}的生日是哪天？",
        ("birthday", "born", "date of birth", "生日", "出生"),
    ),
    Property(
        "What is {}'s mobile number?",
        "{}的手机号是多少？",
        ("mobile", "cell phone", "cellphone", "手机"),
    ),
    Property(
        "What is {}'s e-mail address?",
        "{}的邮箱是什么？",
        ("email", "e-mail", "mail address", "邮箱", "邮件", "电邮"),
    ),
    Property(
        "Which languages does {} speak?",
        "{}会说哪些语言？",
        ("language", "languages", "speaks", "fluent", "语言", "外语", "英语"),
    ),
    Property(
        "Where did {} go to university?",
        "{}毕业于哪所大学？",
        ("university", "college", "degree", "graduated", "studied", "大学", "毕业", "学历"),
    ),
    Property(
        "When is {} on holiday?",
        "{}什么时候休假？",
        ("holiday", "vacation", "leave", "away", "休假", "年假", "请假", "度假"),
    ),
    Property(
        "Who is {}'s deputy?",
        "{}的副手是谁？",
        ("deputy", "deputises", "stands in for", "substitute", "副手", "代理", "替补"),
    ),
)
OF_THINGS: Final = (
    Property(
        "What colour is the {}?",
        "{}是什么颜色的？",
        ("colour", "color", "coloured", "black", "white", "grey", "颜色", "黑色", "白色", "灰色"),
    ),
    Property(
        "How loud is the {}?",
        "{}的噪音有多大？",
        ("loud", "noise", "decibel", "decibels", "噪音", "噪声", "分贝"),
    ),
    Property(
        "In which country is the {} made?",
        "{}是哪个国家生产的？",
        ("made in", "country", "manufactured", "factory", "origin", "产地", "国家", "生产", "制造"),
    ),
    Property(
        "Who designed the {}?",
        "{}是谁设计的？",
        ("designed", "designer", "inventor", "invented", "设计", "发明"),
    ),
)

_DEVICE = re.compile(
    r"\b(?:machines?|gauges?|devices?|pumps?|instruments?|sensors?|units?|engines?|cameras?|printers?"
    r"|scanners?|robots?|vehicles?|cars?|drones?|models?|kg|litres?|watts?|volts?)\b"
    r"|[仪儀机機泵]|扫描|设备|設備|型号|型號|传感|感器|公斤",
    re.IGNORECASE,
)


def other_property_questions(
    collected: Collected, source: Source, seed: int
) -> Iterator[Question | str]:
    """Yield questions for properties that the collection never mentions, in a drawn order."""
    subjects = _find_subjects(source)
    if not subjects:
        yield "unanswerable: a document that names no person and no type"
    candidates = [
        (name, property_) for name, subject in subjects.items() for property_ in subject[1]
    ]
    for name, property_ in sorted(candidates, key=lambda pair: drawn(seed, pair[0], pair[1].en)):
        if not collected.lacks_words(property_.words):
            yield "unanswerable: the collection speaks of that property"
            continue
        language = subjects[name][0]
        text = (property_.zh if language == "zh" else property_.en).format(name)
        text = text.replace("s's ", "s' ") if language == "en" else text
        yield label.unanswerable(
            source.document.uri, text, language=language, kind="other-property"
        )


def _find_subjects(source: Source) -> dict[str, tuple[PromptLanguage, tuple[Property, ...]]]:
    """Map persons and types of a document to its language and the properties to ask for."""
    subjects: dict[str, tuple[PromptLanguage, tuple[Property, ...]]] = {}
    for cell in cells(source):
        if cell.people:
            subjects[cell.row.key] = (cell.language, OF_PEOPLE)
    for place in places(source):
        for match in DESIGNATION.finditer(place.text):
            # PX-300 is a type, A4 or SEV-1 may be anything: the sentence has to name a device.
            if "-" in match.group() and _DEVICE.search(place.text):
                subjects.setdefault(match.group(), (place.language, OF_THINGS))
    return subjects
