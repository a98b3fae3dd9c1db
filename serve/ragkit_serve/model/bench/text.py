"""Made-up office prose in English and Chinese, with a question about each sentence.

It reads like rules and reports, so that a tokenizer meets real words. The same random numbers
give the same text on every machine.
"""

from __future__ import annotations

from random import Random
from typing import Final, Literal

Language = Literal["en", "zh"]

# DeepSeek's documentation: 0.3 tokens for an English character, 0.6 for a Chinese one. It fixes the
# texts whatever tokenizer meets them; what was really counted is in the record.
TOKENS_PER_CHAR: Final[dict[Language, float]] = {"en": 0.3, "zh": 0.6}

_THINGS: Final[dict[Language, tuple[str, ...]]] = {
    "en": (
        "travel claim", "leave request", "pump inspection", "safety report", "supplier contract",
        "visitor badge", "laboratory sample", "budget forecast", "training record", "fire drill",
        "maintenance log", "purchase order", "data backup", "customer complaint", "audit finding",
        "access card", "delivery note", "project plan",
    ),
    "zh": (
        "差旅报销单", "请假申请", "水泵检查", "安全报告", "供应商合同", "访客证", "实验样品",
        "预算草案", "培训记录", "消防演练", "维修日志", "采购订单", "数据备份", "客户投诉",
        "审计意见", "门禁卡", "送货单", "项目计划",
    ),
}  # fmt: skip
_TEAMS: Final[dict[Language, tuple[str, ...]]] = {
    "en": (
        "the finance office", "the plant manager", "human resources", "the quality team",
        "the warehouse", "the legal department", "the site engineer", "the help desk",
    ),
    "zh": ("财务部", "厂长", "人力资源部", "质量小组", "仓库", "法务部", "现场工程师", "服务台"),
}  # fmt: skip
_ACTS: Final[dict[Language, tuple[str, ...]]] = {
    "en": ("approved", "archived", "reviewed", "signed", "registered", "returned", "renewed"),
    "zh": ("批准", "归档", "复核", "签署", "登记", "退回", "续期"),
}
# Two readings each: {0} number, {1} thing, {2} team, {3} act, {4} days.
_SENTENCES: Final[dict[Language, tuple[str, ...]]] = {
    "en": (
        "Under rule {0}, every {1} must be {3} by {2} within {4} working days.",
        "Since version {0}, a {1} that was not {3} after {4} days is passed on to {2}.",
        "In case {0} it took {2} {4} days until the {1} had been {3}.",
    ),
    "zh": (
        "根据第{0}条规定，每份{1}应当在{4}个工作日内由{2}{3}。",
        "自第{0}版起，{4}天后仍未{3}的{1}一律转交{2}处理。",
        "在第{0}号案例中，{2}用了{4}天才将{1}{3}。",
    ),
}
_QUESTIONS: Final[dict[Language, str]] = {
    "en": "What does number {0} say about the {1}, and how many days are named there?",
    "zh": "第{0}号内容对{1}是怎么说的，其中提到多少天？",
}
_RULES: Final[dict[Language, str]] = {
    "en": "You answer questions from numbered sources, briefly, and cite them by number.",
    "zh": "请根据编号资料简短回答问题，并用编号注明出处。",
}


def chars(tokens: int, language: Language) -> int:
    """Return about how many characters so many tokens are.

    >>> chars(90, "en"), chars(90, "zh")
    (300, 150)
    """
    return round(tokens / TOKENS_PER_CHAR[language])


def passage(size_chars: int, language: Language, random: Random) -> tuple[str, list[str]]:
    """Write at least `size_chars` characters of prose, and a question about each sentence."""
    sentences: list[str] = []
    questions: list[str] = []
    written = 0
    while written < size_chars:
        facts = (
            random.randrange(100, 10_000),
            random.choice(_THINGS[language]),
            random.choice(_TEAMS[language]),
            random.choice(_ACTS[language]),
            random.randrange(2, 90),
        )
        sentences.append(random.choice(_SENTENCES[language]).format(*facts))
        questions.append(_QUESTIONS[language].format(*facts))
        written += len(sentences[-1]) + (language == "en")
    return (" " if language == "en" else "").join(sentences), questions


def rules(size_chars: int, language: Language, random: Random) -> str:
    """Write instructions of at least `size_chars` characters."""
    first = _RULES[language]
    more, _ = passage(max(0, size_chars - len(first)), language, random)
    return f"{first}\n{more}".rstrip()
