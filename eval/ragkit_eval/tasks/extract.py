"""Extract the answer from a model's text: letters, numbers, mathematics.

Each function also says whether it used the fallback: the answer was not where it is expected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import NamedTuple


class Extract(NamedTuple):
    """The extracted answer, "" without one; `fallback` unless the first rule matched."""

    text: str
    fallback: bool


_PART = r"(?:\$[^$]+\$|-?\d+(?:\.\d+)?)"
_FORMULAS = rf"{_PART}(?:\s*(?:[;；,，、]|and|和|或|or)\s*{_PART})*"
_OPEN, _CLOSE = r"[(（\[【*$\"'“]*", r"[)）\]】*$\"'”]*"
# A letter that begins a word or a sentence ("A dog") is no option.
_NO_WORD = re.compile(r"(?![A-Za-z'’])(?!\s+[a-z])")
# How models announce the option that they choose, in English and Chinese.
_ANNOUNCEMENT = (
    r"(?:answer(?:\s+choice)?(?:\s+is|\s*[:：])|option(?:\s+is)?|correct\s+(?:choice|option)\s+is"
    r"|答案(?:应该|选项)?(?:是|为|选)?|正确(?:的)?(?:选项|答案)?(?:是|为)|应?(?:该)?选择?|故选|因此选)"
)
# Possessive, because white space after such words could otherwise match in many ways.
_ANNOUNCED = rf"(?i:{_ANNOUNCEMENT})\s*+[:：]?+\s*+{_OPEN}"
_UNIT = r"\\(?:text|mbox)\s*+\{ (?:(?!\\(?:text|mbox)\s*+\{)[^}])*+\}(?:\^\d)?$"
_BETWEEN = r"(?:\s|[,，、;；.。&＆和与及]|and\b|[()（）\[\]【】*])*"


def option_letter(text: str, labels: Sequence[str]) -> Extract:
    """Return the single option that a text chooses.

    The letter is expected at the beginning, alone or before punctuation, or after an announcement
    ("the answer is (B)", "答案是B"), the last of which counts. The fallback is the last single
    letter.
    """
    letter = _alternatives(labels)
    begins = re.match(
        rf"\s*{_OPEN}({letter}){_CLOSE}(?=\s*(?:$|\n|[.。,，:：;；、)）])|\s*$)", text
    )
    if begins:
        return Extract(begins.group(1), False)
    announced = re.findall(rf"{_ANNOUNCED}({letter}){_NO_WORD.pattern}", text)
    if announced:
        return Extract(announced[-1], False)
    single = re.findall(rf"(?<![A-Za-z])({letter}){_NO_WORD.pattern}", text)
    return Extract(single[-1] if single else "", True)


def option_letters(text: str, labels: Sequence[str]) -> Extract:
    """Return all options that a text chooses, in the order of labels, as one word: "ACD".

    They are expected where `option_letter` expects its letter; the fallback is the last run of
    letters.
    """
    run = rf"({_alternatives(labels)}(?:{_BETWEEN}{_alternatives(labels)})*)(?![A-Za-z])"
    begins = re.match(rf"\s*{_OPEN}{run}(?!\s+[a-z])", text)
    if begins:
        return Extract(_sorted(begins.group(1), labels), False)
    announced = re.findall(rf"{_ANNOUNCED}{run}", text)
    if announced:
        return Extract(_sorted(announced[-1], labels), False)
    return Extract(_sorted(_last_run(text, labels), labels), True)


def final_number(text: str) -> Extract:
    """Return the final number of a worked solution, without separators of thousands.

    It is expected after the last "####", "A:" or "answer is"; the fallback is the last number.
    """
    number = r"-?\$?\s?-?[0-9][0-9.,]*|-?\.[0-9]+"
    announced = re.findall(rf"(?:####\s*|\bA: |answer is:?\s*)\$?({number})", text)
    if announced:
        return Extract(plain_number(announced[-1]), False)
    numbers = re.findall(number, text)
    return Extract(plain_number(numbers[-1]) if numbers else "", True)


def plain_number(text: str) -> str:
    """Return a number without currency, separators and full stop."""
    return re.sub(r"[$,\s]", "", text).rstrip(".")


def is_number(text: str) -> bool:
    """Return whether a right answer is a number that `final_number` can match.

    >>> is_number("$1,200."), is_number("1/2")
    (True, False)
    """
    try:
        return Decimal(plain_number(text)).is_finite()
    except InvalidOperation:
        return False


def first_line(text: str) -> str:
    """Return the first line of a text that is not empty, stripped."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def said_answer(text: str) -> Extract:
    """Return the rest of the line after "the answer is"; the fallback is the last line.

    The last such sentence counts, because a model that reasons may write it several times.
    """
    announced = re.findall(r"[Tt]he answer is:?[ \t]*([^\n]*)", text)
    if announced and announced[-1].strip():
        return Extract(_bare(announced[-1]), False)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return Extract(_bare(lines[-1]) if lines else "", True)


def math_answer(text: str) -> Extract:
    r"""Return the mathematical answer of a text.

    It is expected in the last \boxed{...}, else in the last formula between dollar signs, where
    formulas with only separators between them are one answer ("$5$; $10$"), else after "answer is"
    or "答案是", to the end of the line. The fallback is the last number.
    """
    boxed = boxed_part(text)
    if boxed:
        return Extract(boxed.strip(), False)
    runs = [run.group() for run in re.finditer(_FORMULAS, text) if "$" in run.group()]
    if runs:
        return Extract(";".join(part.strip("$ ") for part in re.findall(_PART, runs[-1])), False)
    line = first_line(re.split(r"answer is[:：]?|答案[是为：:]+", text)[-1]).rstrip(".。")
    if line and re.fullmatch(r"[\x20-\x7e\s；，、π√∞°]{1,120}", line) and not _is_prose(line):
        return Extract(line.strip(), False)
    numbers = re.findall(r"-?\d+(?:\.\d+)?", text)
    return Extract(numbers[-1] if numbers else "", True)


def same_math(answer: str, target: str) -> bool:
    r"""Return whether two answers are equal as text after spacing and notation are normalised.

    There is no algebra: 1/2 and \frac{1}{2} are equal, 2+3 and 5 are not. If the answer is an
    equation and the target is not, the right side of the answer counts.

    >>> same_math("x = \\frac12", "\\dfrac{1}{2}")
    True
    >>> same_math("2+3", "5")
    False
    """
    if "=" not in target:
        answer = answer.rpartition("=")[2]
    return _plain_math(answer) == _plain_math(target)


def _is_prose(line: str) -> bool:
    """Return whether a line has words, which formulas have only as commands and inside \\text."""
    line = re.sub(r"\\(?:text|mbox)\s*\{[^}]*\}", "", line)
    return re.search(r"(?<![\\a-zA-Z{])[A-Za-z]{3,}", line) is not None


def _plain_math(text: str) -> str:
    # Units: words after a space, as the data writes them.
    text = re.sub(_UNIT, "", text.strip("$ ").rstrip(".。"))
    text = re.sub(
        r"\\(?:left|right|!|,|;|quad|displaystyle|mathrm|text|%|\$)(?![a-zA-Z])", "", text
    )
    text = re.sub(r"\^\{?\\circ\}?|°|[$%\s]", "", text).replace("dfrac", "frac")
    text = text.replace("tfrac", "frac").replace("，", ",").replace("；", ";").rstrip(".。")
    text = re.sub(r"^[a-zA-Z]\w?=", "", text)
    text = re.sub(r"\\frac([^{\\])([^{\\])", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\\frac\{([^{}]*)\}([^{\\])", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\\sqrt([^{\[\\])", r"\\sqrt{\1}", text)
    text = re.sub(r"^(-?)(\d+)/(\d+)$", r"\1\\frac{\2}{\3}", text)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text) if re.fullmatch(r"-?[\d,]+", text) else text
    text = re.sub(r"(?<!\d)\.(?=\d)", "0.", text)
    text = re.sub(r"^(-?\d+)\.0+$", r"\1", text)
    return r"\frac{1}{2}" if text == "0.5" else text


def boxed_part(text: str) -> str:
    """Return the content of the last \\boxed, by counting braces; "" without a complete one."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return ""
    depth = 0
    for place in range(start + len("\\boxed"), len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + len("\\boxed{") : place]
    return ""


def _bare(text: str) -> str:
    return text.strip().removesuffix(".").strip()


def _alternatives(labels: Sequence[str]) -> str:
    return "(?:" + "|".join(re.escape(label) for label in labels) + ")"


def _last_run(text: str, labels: Sequence[str]) -> str:
    """Return the last run of letters, without final letters that begin a word or a sentence.

    These are dropped after the search: a pattern that drops them takes quadratic time.
    """
    letter = _alternatives(labels)
    runs = list(re.finditer(rf"(?<![A-Za-z]){letter}(?:{_BETWEEN}{letter})*+", text))
    for run in reversed(runs):
        for last in reversed(list(re.finditer(letter, run.group()))):
            if _NO_WORD.match(text, run.start() + last.end()):
                return run.group()[: last.end()]
    return ""


def _sorted(run: str, labels: Sequence[str]) -> str:
    return "".join(label for label in labels if label in run)
