r"""Extract the answer from a model's text in whatever notation it stands.

Published rules take "**(B)**" and "$\boxed{18}$" for wrong. These functions read them, and stand
beside the published ones: a score says by which it was made.
"""

from __future__ import annotations

import re
import unicodedata

from ragkit_eval.tasks.extract import boxed_part, first_line

_NUMBER = re.compile(r"-?\s?-?[0-9][0-9.,]*|-?\.[0-9]+")
_ANNOUNCED = re.compile(
    r"(?:answer(?:\s+is|\s*:)|答案(?:应该)?(?:是|为)|答案\s*:|####)[ \t:]*+([^\n]+)", re.IGNORECASE
)
_COMMANDS = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox|boxed)\s*\{([^{}]*)\}")
_MARKS = str.maketrans("", "", "*_`$\"'“”‘’\\")
_OPTION = re.compile(r"\(([a-z])\)")  # a target of the normalised form (b)
_WORDS = frozenset({"yes", "no", "true", "false", "valid", "invalid"})


def lenient_number(text: str) -> str:
    r"""Return the final number of a solution, "" without one.

    It is expected in the last \boxed{...}, else after the last "answer is", "答案是" or "####",
    else it is the last number. Full-width digits, emphasis, currency and separators do not matter.

    >>> [lenient_number(text) for text in (r"$\boxed{18}$, of 20", "答案是１,８００元。", "**3**")]
    ['18', '1800', '3']
    """
    text = unicodedata.normalize("NFKC", text)
    announced = _ANNOUNCED.findall(text)
    for part in (boxed_part(text), announced[-1] if announced else "", text):
        numbers = _NUMBER.findall(_without_marks(part))
        if numbers:
            # after an announcement the first number is the answer, in a text the last
            number = numbers[-1] if part is text else numbers[0]
            return re.sub(r"[,\s]", "", number).rstrip(".")
    return ""


def lenient_answer(text: str, *, reasoned: bool) -> str:
    r"""Return a short answer in a plain form: lower case, without emphasis and final punctuation.

    It is expected in the last \boxed{...}; of a reasoned answer after the last "answer is" or
    "答案是", else in the last line; of any other in the first line.

    >>> lenient_answer("So **the answer is (B)**.", reasoned=True)
    '(b)'
    """
    text = unicodedata.normalize("NFKC", text)
    answer = boxed_part(text)
    if not answer and reasoned:
        announced = _ANNOUNCED.findall(text)
        lines = [line for line in text.splitlines() if line.strip()]
        answer = announced[-1] if announced else lines[-1] if lines else ""
    return _plain(answer or first_line(text))


def same_answer(answer: str, target: str) -> bool:
    """Tell whether a plain answer is a target, alone, or with more words after it.

    A letter may have its option's text behind it, and "yes" its reason.

    >>> [same_answer(a, "(B)") for a in ("b", "(b) 01/03/1963", "b. the second", "b or c", "bad")]
    [True, True, True, False, False]
    """
    expected = _plain(target)
    if answer == expected:
        return True
    option = _OPTION.fullmatch(expected)
    if option:
        rest = answer.removeprefix("option ")
        begins = rest.startswith(option[1]) and (len(rest) == 1 or rest[1] in ").:")
        return begins or answer.startswith(expected)
    after = answer[len(expected) : len(expected) + 1]
    return expected in _WORDS and answer.startswith(expected) and not after.isalnum()


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", _without_marks(text)).casefold()
    return " ".join(text.split()).strip(" .。!").removeprefix("the answer is ")


def _without_marks(text: str) -> str:
    return _COMMANDS.sub(r"\1", text).translate(_MARKS)
