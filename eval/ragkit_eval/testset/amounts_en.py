"""Turn an English sentence with an amount into a question: how many, how much, how long, when.

The sentence is rearranged around its verb, which has to be in a list; other sentences give none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ragkit_eval.testset.blanks import Blank
from ragkit_eval.testset.wording import Amount, mid_sentence, searchable

MAX_SUBJECT_WORDS: Final = 9  # arbitrary, and so is the next one
MAX_WORDS_AFTER: Final = 10

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
    """A sentence split at its verb and its amount; `tail` are the words that follow the amount."""

    subject: list[str]
    verb: str
    between: list[str]
    preposition: str
    number: str
    tail: list[str]


def english(sentence: str, blank: Blank, text: str = "") -> Amount | None:
    """Turn "Files are kept for 7 years." into "For how long are files kept?"; None for other forms.

    `text` is the document's, which distinguishes names from words.
    """
    parts = _split_sentence(sentence, blank)
    wording = _word_opening(parts, blank) if parts else None
    if parts is None or wording is None:
        return None
    opening, tail, answer = wording
    if len(tail) > MAX_WORDS_AFTER or (parts.verb == "have" and opening == "How long"):
        return None
    subject = mid_sentence(" ".join(parts.subject), text)
    for article in ("The", "A", "An", "Every", "Each", "All"):
        if subject.startswith(f"{article} "):
            subject = subject[:1].lower() + subject[1:]
    helper, main = _choose_auxiliary(parts.verb)
    words = [opening, helper, subject, *main, *parts.between, *tail]
    question = searchable(" ".join(filter(None, words))).rstrip(" .")
    return Amount(f"{question}?", searchable(answer))


def _split_sentence(sentence: str, blank: Blank) -> _Parts | None:
    """Split a sentence at its verb and amount; None if it depends on another or lacks a verb."""
    head, tail = sentence[: blank.start], sentence[blank.end :]
    words = head.split()
    verb_at = next((n for n in range(1, len(words)) if _is_verb(words, n)), 0)
    subject, between = words[:verb_at], words[verb_at + 1 :]
    if _CUT.search(head) or "\n" in sentence or not 0 < verb_at <= MAX_SUBJECT_WORDS:
        return None
    if not _is_clear(subject, words[verb_at], between):
        return None
    cut = _CUT.search(tail)
    words_after = (tail[: cut.start()] if cut else tail).split()
    number = sentence[blank.start : blank.end]
    ordinal = _ORDINAL.search(" ".join(between)) if blank.kind == "date" else None
    if ordinal:
        number = f"{ordinal[1].removeprefix('on ').removeprefix('the ')} {number}"
        between = " ".join(between)[: ordinal.start()].split()
        preposition = "every" if "every" in ordinal[1] else "on"
        return _Parts(subject, words[verb_at], between, preposition, number, words_after)
    plain = _MORE.sub("", " ".join(between)).split()
    preposition = plain[-1] if plain and plain[-1] in _PREPOSITIONS else ""
    between = plain[:-1] if preposition else plain
    return _Parts(subject, words[verb_at], between, preposition, number, words_after)


def _is_clear(subject: list[str], verb: str, between: list[str]) -> bool:
    """Tell whether the subject is named, and the verb is affirmative and in a simple tense."""
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


def _choose_auxiliary(verb: str) -> tuple[str, list[str]]:
    if verb in _BE or verb in _MODAL:
        return verb, []
    return ("does", [_DO[verb]]) if verb in _DO else ("do", [verb])


def _word_opening(parts: _Parts, blank: Blank) -> tuple[str, list[str], str] | None:
    """Return the question's opening, the words of the tail that stay in it, and its answer."""
    tail = " ".join(parts.tail)
    if blank.kind in {"date", "time"}:
        return _ask_date(parts)
    if unit := _TIME_UNIT.match(tail):
        return _ask_duration(parts, f"{parts.number} {unit[0]}", tail[unit.end() :].split())
    if parts.preposition:
        return None
    money = _MONEY_UNIT.match(tail)
    if parts.number[:1] in "€$£¥" or money:
        answer = f"{parts.number} {money[0]}" if money else parts.number
        return "How much", tail[money.end() if money else 0 :].split(), answer
    return _ask_count(parts)


def _ask_count(parts: _Parts) -> tuple[str, list[str], str] | None:
    """Ask how many of a noun there are: the noun extends to the next preposition."""
    if not parts.tail or parts.number.endswith(("%", "percent")):
        return None
    if _DO.get(parts.verb, parts.verb) == "weigh":
        return "How much", parts.tail[1:], f"{parts.number} {parts.tail[0]}"
    if parts.verb in _BE or parts.between:
        return None
    end = next((n for n, word in enumerate(parts.tail) if word in _NOUN_ENDS), len(parts.tail))
    noun = parts.tail[:end]
    if not noun or not re.fullmatch(r"[a-z-]{3,}s|people|children|staff", noun[-1]):
        return None
    answer = " ".join((parts.number, *noun))
    return f"How many {' '.join(noun)}", parts.tail[end:], answer


def _ask_duration(parts: _Parts, answer: str, tail: list[str]) -> tuple[str, list[str], str] | None:
    if parts.preposition in _OF_TIME:
        repeated = parts.preposition == "every"
        tail = [] if tail[:1] == ["of"] else tail  # "within five days of its arrival"
        return _OF_TIME[parts.preposition], tail, f"every {answer}" if repeated else answer
    if parts.preposition:
        return None
    if tail[:1] == ["ahead"] or tail[:2] == ["in", "advance"]:
        return "How far ahead", tail[1 if tail[0] == "ahead" else 2 :], answer
    base = _DO.get(parts.verb, parts.verb)
    if base in {"last", "take"} or (parts.verb in _BE and not parts.between):
        return "How long", tail, answer
    if base in {"have", "get", "receive", "need", "cover", "offer"} and not parts.between:
        unit = answer.split()[1:]
        if tail[:1] == ["of"]:  # days of annual leave
            end = next((n for n, word in enumerate(tail) if n and word in _NOUN_ENDS), len(tail))
            unit, tail = [*unit, *tail[:end]], tail[end:]
        return f"How many {' '.join(unit)}", tail, answer
    return None


def _ask_date(parts: _Parts) -> tuple[str, list[str], str] | None:
    if parts.preposition == "every":
        return "How often", parts.tail, parts.number
    if parts.preposition == "from":
        match = re.match(r"(?:until|to) (\d{1,2}:\d{2})\b", " ".join(parts.tail))
        if match is None:
            return None
        remaining = " ".join(parts.tail)[match.end() :].split()
        return "From when until when", remaining, f"{parts.number} {match[0]}"
    begins = parts.tail[0] if parts.tail else "of"  # "11:00 Galway time", "1 May at 9:00"
    if parts.preposition not in _OF_DATE or begins not in _NOUN_ENDS - {"to", "at", "until"}:
        return None
    answer, tail = parts.number, parts.tail
    if tail[:1] == ["of"]:  # the first Monday of every quarter
        return _OF_DATE[parts.preposition], [], " ".join((answer, *tail[:4]))
    return _OF_DATE[parts.preposition], tail, answer
