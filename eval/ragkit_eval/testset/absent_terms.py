"""Make unanswerable questions for terms that a collection does not have: the easiest to refuse.

The terms are of working life and technology, as users might look them up. A term that any passage
has, in all its words, is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ragkit.prompts.templates import PromptLanguage
from ragkit_eval.sets import Question
from ragkit_eval.testset import label
from ragkit_eval.testset.sources import Source, drawn, language_of

if TYPE_CHECKING:
    from ragkit_eval.testset.absent import Collected

# Each with the words that would mention it.
ENGLISH: Final = {
    "a sabbatical": ("sabbatical",),
    "garden leave": ("garden leave", "gardening leave"),
    "a zero-hours contract": ("zero-hours", "zero hours"),
    "a non-compete clause": ("non-compete", "noncompete", "competitor"),
    "severance pay": ("severance", "redundancy"),
    "a secondment": ("secondment", "seconded"),
    "force majeure": ("force majeure",),
    "a letter of credit": ("letter of credit",),
    "an escrow account": ("escrow",),
    "subrogation": ("subrogation",),
    "a power of attorney": ("power of attorney",),
    "a performance bond": ("performance bond",),
    "a whistleblower": ("whistleblower", "whistleblowing"),
    "a carbon offset": ("carbon offset", "carbon"),
    "a load balancer": ("load balancer", "load balancing"),
    "a penetration test": ("penetration test", "pentest"),
    "a data lake": ("data lake",),
    "a torque converter": ("torque converter",),
    "a heat exchanger": ("heat exchanger",),
    "a circuit breaker": ("circuit breaker",),
    "a flywheel": ("flywheel",),
    "a bill of lading": ("bill of lading",),
    "a customs bond": ("customs",),
    "a mood board": ("mood board",),
    "a blind tasting": ("tasting",),
    "a stool sample": ("stool sample",),
    "herd immunity": ("herd immunity", "immunity"),
    "a skeleton crew": ("skeleton crew", "skeleton staff"),
    "a poison pill": ("poison pill",),
    "a floating holiday": ("floating holiday",),
}
CHINESE: Final = {
    "竞业限制": ("竞业",),
    "股权激励": ("股权", "期权"),
    "留职停薪": ("留职", "停薪"),
    "不可抗力": ("不可抗力",),
    "信用证": ("信用证",),
    "提单": ("提单",),
    "代位求偿": ("代位",),
    "履约保函": ("保函",),
    "碳抵消": ("碳抵消", "碳中和", "碳排放"),
    "负载均衡": ("负载均衡",),
    "渗透测试": ("渗透测试",),
    "数据湖": ("数据湖",),
    "液力变矩器": ("变矩器",),
    "板式换热器": ("换热器",),
    "断路器": ("断路器",),
    "飞轮储能": ("飞轮",),
    "压载水": ("压载",),
    "群体免疫": ("群体免疫",),
    "过桥贷款": ("过桥贷款", "贷款"),
    "毒丸计划": ("毒丸",),
    "弹性福利": ("弹性福利",),
    "末位淘汰": ("末位淘汰",),
    "借调": ("借调",),
    "商誉减值": ("商誉",),
    "试镜": ("试镜",),
    "盲盒": ("盲盒",),
    "首付": ("首付",),
    "靶向药": ("靶向",),
    "沙盘推演": ("沙盘",),
    "反洗钱": ("洗钱",),
}


def unknown_term_questions(
    collected: Collected, source: Source, seed: int
) -> Iterator[Question | str]:
    """Yield questions about terms that no passage has, in a drawn order."""
    language = language_of(source.text, source.document)
    if language is None:
        yield "a document neither English nor Chinese"
        return
    terms = CHINESE if language == "zh" else ENGLISH
    order = sorted(
        terms, key=lambda term: drawn(seed, source.document.uri.rpartition("/")[2], term)
    )
    for term in order:
        if not collected.lacks_words(terms[term]):
            yield "unanswerable: the collection has the term"
            continue
        yield label.unanswerable(
            source.document.uri,
            _word_question(term, language),
            language=language,
            kind="unknown-term",
        )


def _word_question(term: str, language: PromptLanguage) -> str:
    return f"{term}是什么意思？" if language == "zh" else f"What is {term}?"
