"""The command line's texts in the user's language: English, or Chinese where the locale says so.

A text is written in English where it is printed; `ragkit.cli.words_zh` has the Chinese for it, and
a text that is not there stays English. JSON never passes through here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Final, Literal

Language = Literal["en", "zh"]

_MAX_MESSAGE_CHARS: Final = 1000  # bounds the time of matching; arbitrary
_LOCALE: Final = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set counts


def language(environment: Mapping[str, str] = os.environ) -> Language:
    """Return the language that the locale asks for.

    `LANGUAGE` names languages by preference, and counts only where the locale is not C, as in
    gettext.

    >>> language({"LANG": "zh_CN.UTF-8"}), language({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"})
    ('zh', 'en')
    """
    locale = next((value for name in _LOCALE if (value := environment.get(name))), "")
    if locale.partition(".")[0] in {"C", "POSIX"}:
        return "en"
    preferred = environment.get("LANGUAGE", "").partition(":")[0] or locale
    return "zh" if preferred.lower().startswith("zh") else "en"


def say(text: str, /, **values: object) -> str:
    """Return a text in the user's language, with the values in its {places}."""
    if language() == "zh":
        from ragkit.cli.words_zh import TEXTS

        text = TEXTS.get(text, text)
    return text.format(**values) if values else text


def sentence(message: str) -> str:
    """Translate a finished message into the user's language where a translation exists."""
    if language() == "en" or len(message) > _MAX_MESSAGE_CHARS:
        return message
    from ragkit.cli.words_zh import TEXTS

    if message in TEXTS:
        return TEXTS[message]
    for pattern, chinese in _messages():
        if match := pattern.fullmatch(message):
            values = match.groupdict()
            if "reason" in values:
                values["reason"] = sentence(values["reason"])
            return chinese.format(**values)
    return message


@cache
def _messages() -> list[tuple[re.Pattern[str], str]]:
    """Compile a pattern for each message with values, with its Chinese text."""
    from ragkit.cli.words_zh_messages import MESSAGES

    looks = (re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(text)) for text in MESSAGES)
    return [
        (re.compile(look, re.DOTALL), chinese)
        for look, chinese in zip(looks, MESSAGES.values(), strict=True)
    ]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is one.

    >>> counted(1, "passage"), counted(0, "passage")
    ('1 passage', '0 passages')
    """
    text = f"{{number}} {noun}" if number == 1 else f"{{number}} {noun}s"
    return say(text, number=number)
