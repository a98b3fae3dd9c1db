"""An English sentence with an amount turned into a question: how many, how much, how long, when.

The sentence is turned round its verb, which is one of a list; any other is left alone. It knows no
grammar beyond that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ragkit_eval.testset.blanks import Blank
from ragkit_eval.testset.wording import Amount, mid_sentence, searchable

MOST_SUBJECT_WORDS: Final = 9  # arbitrary, and so is the next one
MOST_WORDS_AFTER: Final = 10

_TIME_UNIT = re.compile(
    r"(?:(?:working|calendar|business|full|paid|consecutive) )?"
    r"(?:second|minute|hour|day|night|week|month|year)s?\b"
)
_MONEY_UNIT = re.compile(r"(?:pence|euros?|pounds?|dollars?|cents?|yuan|francs?)\b")
_MORE = re.compile(
    r" ?\b(?:up to|at least|at most|no more than|not more than|more than|less than|about|only"
    r"|around|roughly|a total of|exactly|nearly|almost)$"
)
_BE: Final = frozenset("is are was were".split())
_MODAL: Final = frozenset("must may can should will".split())
_DO: Final = {
    verb + ("es" if verb.endswith(("s", "ch", "sh")) else "s"): verb
    for verb in (
        "cost weigh last hold take need receive contain cover return deliver close open begin end"
        " start expire meet run measure report pay use employ produce stop serve keep offer consume"
        " change get allow support charge deduct store repeat"
    ).split()
} | {"has": "have"}
_BASES: Final = frozenset(_DO.values())
_UNCLEAR = re.compile(
    r"\b(?:it|they|this|these|those|he|she|we|you|i|there|here|that|which|who|whoever|if|when|once"
    r"|after|before|while|because|since|although|where|as|unless|until|another|nobody|then|and|but"
    r"|their|its|his|her|not|never|no|both|other|same)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|never|no|it|they|them|their|its|his|her)\b")
_ORDINAL = re.compile(r"(?:^| )((?:on )?(?:the|every) (?:first|second|third|fourth|last|other))$")
_CUT = re.compile(
    r"[,;(—–!]|[:.](?!\d)| (?:and|but|or|once|if|when|because|so|unless|which|who|where|whereas"
    r"|while|since|as|until(?! \d)|that|than)\b"
)
_NOUN_ENDS: Final = frozenset(
    "in at on for per to from with by during within each every over under across before after a an"
    " the until ahead of".split()
)
_PREPOSITIONS: Final = frozenset(
    "within after for every until by on at before in from since".split()
)
_OPEN_ENDS: Final = (["with"], ["to"], ["of"], ["into"], ["than"], ["between"], ["as"])
_OF_TIME: Final = {
    "within": "Within what time",
    "after": "After how long",
    "for": "For how long",
    "every": "How often",
}
_OF_DATE: Final = {
    "on": "When",
    "at": "At what time",
    "in": "When",
    "by": "By when",
    "until": "Until when",
    "before": "Before when",
    "since": "Since when",
}


@dataclass(frozen=True, slots=True)
class _Parts:
    """A sentence cut at its verb and its amount; `after` is what follows the amount, in words."""

    subject: list[str]
    verb: str
    between: list[str]
    preposition: str
    number: str
    after: list[str]


def english(sentence: str, blank: Blank, text: str = "") -> Amount | None:
    """Turn "Files are kept for 7 years." into "For how long are files kept?"; None for others.

    `text` is the document's, which tells names from words.
    """
    parts = _parts(sentence, blank)
    asked = _asked(parts, blank) if parts else None
    if parts is None or asked is None:
        return None
    opening, after, answer = asked
    if len(after) > MOST_WORDS_AFTER or (parts.verb == "have" and opening == "How long"):
        return None
    subject = mid_sentence(" ".join(parts.subject), text)
    for article in ("The", "A", "An", "Every", "Each", "All"):
        if subject.startswith(f"{article} "):
            subject = subject[:1].lower() + subject[1:]
    helper, main = _helper(parts.verb)
    words = [opening, helper, subject, *main, *parts.between, *after]
    question = searchable(" ".join(filter(None, words))).rstrip(" .")
    return Amount(f"{question}?", searchable(answer))


def _parts(sentence: str, blank: Blank) -> _Parts | None:
    """Cut a sentence at its verb and its amount; None where it leans on another, or has no verb."""
    before, after = sentence[: blank.start], sentence[blank.end :]
    words = before.split()
    at = next((n for n in range(1, len(words)) if _is_verb(words, n)), 0)
    subject, between = words[:at], words[at + 1 :]
    if _CUT.search(before) or "\n" in sentence or not 0 < at <= MOST_SUBJECT_WORDS:
        return None
    if not _is_clear(subject, words[at], between):
        return None
    cut = _CUT.search(after)
    rest = (after[: cut.start()] if cut else after).split()
    number = sentence[blank.start : blank.end]
    ordinal = _ORDINAL.search(" ".join(between)) if blank.kind == "date" else None
    if ordinal:
        number = f"{ordinal[1].removeprefix('on ').removeprefix('the ')} {number}"
        between = " ".join(between)[: ordinal.start()].split()
        preposition = "every" if "every" in ordinal[1] else "on"
        return _Parts(subject, words[at], between, preposition, number, rest)
    plain = _MORE.sub("", " ".join(between)).split()
    preposition = plain[-1] if plain and plain[-1] in _PREPOSITIONS else ""
    between = plain[:-1] if preposition else plain
    return _Parts(subject, words[at], between, preposition, number, rest)


def _is_clear(subject: list[str], verb: str, between: list[str]) -> bool:
    """Tell whether the subject says what it is, and the verb is affirmed and in a simple tense."""
    if _UNCLEAR.search(" ".join(subject)) or _NEGATED.search(" ".join(between)):
        return False
    plain = _MORE.sub("", " ".join(between)).split()
    if plain[-1:] in _OPEN_ENDS or (verb in {"has", "have"} and plain):
        return False  # "is paid with", "has been shut for two years"
    # "In 2025 the limit was ..."
    return subject[0].lower() not in _NOUN_ENDS - {"a", "an", "the", "each", "every"}


def _is_verb(words: list[str], at: int) -> bool:
    word = words[at]
    if word in _BE or word in _MODAL:
        return True
    if at + 1 < len(words) and (words[at + 1] in _BE or words[at + 1] in _MODAL):
        return False  # "Moving costs are paid ..."
    if word in _DO:
        return True
    return word in _BASES and (words[at - 1].endswith("s") or words[at - 1] in {"people", "staff"})


def _helper(verb: str) -> tuple[str, list[str]]:
    if verb in _BE or verb in _MODAL:
        return verb, []
    return ("does", [_DO[verb]]) if verb in _DO else ("do", [verb])


def _asked(parts: _Parts, blank: Blank) -> tuple[str, list[str], str] | None:
    """Return how the question opens, what of the rest stays in it, and its answer."""
    rest = " ".join(parts.after)
    if blank.kind in {"date", "time"}:
        return _date(parts)
    if unit := _TIME_UNIT.match(rest):
        return _time(parts, f"{parts.number} {unit[0]}", rest[unit.end() :].split())
    if parts.preposition:
        return None
    money = _MONEY_UNIT.match(rest)
    if parts.number[:1] in "€$£¥" or money:
        answer = f"{parts.number} {money[0]}" if money else parts.number
        return "How much", rest[money.end() if money else 0 :].split(), answer
    return _count(parts)


def _count(parts: _Parts) -> tuple[str, list[str], str] | None:
    """Ask how many of a noun there are: everything up to the next preposition is the noun."""
    if not parts.after or parts.number.endswith(("%", "percent")):
        return None
    if _DO.get(parts.verb, parts.verb) == "weigh":
        return "How much", parts.after[1:], f"{parts.number} {parts.after[0]}"
    if parts.verb in _BE or parts.between:
        return None
    end = next((n for n, word in enumerate(parts.after) if word in _NOUN_ENDS), len(parts.after))
    noun = parts.after[:end]
    if not noun or not re.fullmatch(r"[a-z-]{3,}s|people|children|staff", noun[-1]):
        return None
    answer = " ".join((parts.number, *noun))
    return f"How many {' '.join(noun)}", parts.after[end:], answer


def _time(parts: _Parts, answer: str, after: list[str]) -> tuple[str, list[str], str] | None:
    if parts.preposition in _OF_TIME:
        often = parts.preposition == "every"
        after = [] if after[:1] == ["of"] else after  # "within five days of its arrival"
        return _OF_TIME[parts.preposition], after, f"every {answer}" if often else answer
    if parts.preposition:
        return None
    if after[:1] == ["ahead"] or after[:2] == ["in", "advance"]:
        return "How far ahead", after[1 if after[0] == "ahead" else 2 :], answer
    base = _DO.get(parts.verb, parts.verb)
    if base in {"last", "take"} or (parts.verb in _BE and not parts.between):
        return "How long", after, answer
    if base in {"have", "get", "receive", "need", "cover", "offer"} and not parts.between:
        unit = answer.split()[1:]
        if after[:1] == ["of"]:  # days of annual leave
            end = next((n for n, word in enumerate(after) if n and word in _NOUN_ENDS), len(after))
            unit, after = [*unit, *after[:end]], after[end:]
        return f"How many {' '.join(unit)}", after, answer
    return None


def _date(parts: _Parts) -> tuple[str, list[str], str] | None:
    if parts.preposition == "every":
        return "How often", parts.after, parts.number
    if parts.preposition == "from":
        match = re.match(r"(?:until|to) (\d{1,2}:\d{2})\b", " ".join(parts.after))
        if match is None:
            return None
        left = " ".join(parts.after)[match.end() :].split()
        return "From when until when", left, f"{parts.number} {match[0]}"
    begins = parts.after[0] if parts.after else "of"  # "11:00 Galway time", "1 May at 9:00"
    if parts.preposition not in _OF_DATE or begins not in _NOUN_ENDS - {"to", "at", "until"}:
        return None
    answer, after = parts.number, parts.after
    if after[:1] == ["of"]:  # the first Monday of every quarter
        return _OF_DATE[parts.preposition], [], " ".join((answer, *after[:4]))
    return _OF_DATE[parts.preposition], after, answer
