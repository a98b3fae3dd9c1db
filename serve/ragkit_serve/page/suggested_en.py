"""English questions that a text seems to answer: from its sentences and headings.

Nothing is searched here. Whether a question is answered is for whoever suggests it to find out.
"""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_ABOUT: Final = r"(?:at most |at least |up to |about |around |only |exactly |a maximum of )?"
# A noun phrase at the beginning of a sentence, short enough to be repeated in a question.
_SUBJECT: Final = (
    r"(?P<subject>(?:The|A|An|Each|Every|All|Our|[A-Z][\w'’-]+)(?: (?!and\b|or\b|but\b|that\b"
    r"|which\b|who\b|if\b|when\b|is\b|are\b|has\b|have\b)[\w'’()/-]+){0,6}?)"
)
_FIGURES: Final = (
    (
        re.compile(
            rf"{_SUBJECT} (?P<verb>is|are) {_ABOUT}{_NUMBER} (?:[a-z]+ ){{1,3}}"
            r"(?P<how>long|high|wide|deep|tall|thick|heavy|old|large)\b"
        ),
        "How {how} {verb} {subject}?",
    ),
    (re.compile(rf"{_SUBJECT} (?P<verb>costs?) [^.]*\d"), "How much {do} {subject} cost?"),
    (re.compile(rf"{_SUBJECT} (?P<verb>lasts?) [^.]*{_NUMBER}"), "How long {do} {subject} last?"),
    (
        re.compile(
            rf"{_SUBJECT} (?P<verb>opens|closes|ends|starts|begins|expires|open|close|end|start"
            r"|begin|expire) (?:at|on|in|after) [^.]*\d"
        ),
        "When {do} {subject} {base}?",
    ),
    (
        re.compile(
            rf"{_SUBJECT} (?P<verb>has|have) {_ABOUT}{_NUMBER} "
            r"(?P<things>[a-z]+s(?: of (?:[a-z]+ )?[a-z]+)?)\b"
        ),
        "How many {things} {do} {subject} have?",
    ),
    (
        re.compile(rf"{_SUBJECT} (?P<verb>[a-z]{{3,}}s) {_ABOUT}{_NUMBER} (?P<things>[a-z]+s)\b"),
        "How many {things} {do} {subject} {base}?",
    ),
)
_DEFINITION: Final = re.compile(
    rf"(?!The |All |Each |Every |Our ){_SUBJECT} (?P<verb>is|are) (?:a|an) (?!few\b|lot\b)[a-z]"
)
_NO_SUBJECT: Final = re.compile(
    r"(?:This|That|These|Those|There|Here|It|He|She|They|We|You|What|Which|Who|If|When|In|On|At"
    r"|For|From|With|After|Before|During|Since|Until|Because|However|Both|Such|One|Please|Your|His"
    r"|Her|Its|Their|As|By|To|Of|And|Or|But|Not|No|Only|Also|Then|Where|While|All of"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July"
    r"|August|September|October|November|December)\b"
)
# Headings that are clauses: only those that a question can be made of.
_WHEN: Final = re.compile(r"(?:when|if|after) .+", re.IGNORECASE)
_HOW_TO: Final = re.compile(r"how to (?P<do>.+)", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    r"(?:before|where|what|how|why|who|which|while|your|our|my|is|are|do|does)\b|.*\b(?:we|you|is|are|goes)\b",
    re.IGNORECASE,
)
MAX_TITLE_CHARS: Final = 40  # of a title in a question; by judgement
_TIME: Final = re.compile(r"(?:In|Since|From|As of) [^,]{2,20}, ")
_UNFINISHED: Final = re.compile(
    r"\b(?:the|a|an|of|in|on|at|for|from|to|with|and|or)$", re.IGNORECASE
)
_DETERMINER: Final = re.compile(r"(?:The|A|An|Each|Every|All|Our)\b")
DULL: Final = re.compile(
    r"(?:introduction|overview|summary|general.*|contents|table of contents|notes?|appendix.*|faq"
    r"|references?|other|background|scope|purpose|conclusions?|abstract|changelog|history|version"
    r"|about|examples?|welcome|contact|questions(?: and answers)?)",
    re.IGNORECASE,
)


def from_sentence(sentence: str, text: str) -> tuple[str, str]:
    """Ask for the figure of a sentence, or what it defines: (figure, definition), "" for none.

    >>> from_sentence("The harbour crane lifts at most 42 tonnes in calm weather.", "")
    ('How many tonnes does the harbour crane lift?', '')
    >>> from_sentence("A delta wing is a wing in the form of a triangle.", "")
    ('', 'What is a delta wing?')
    """
    sentence = _upper(_TIME.sub("", sentence))
    if _NO_SUBJECT.match(sentence):
        return "", ""
    for pattern, question in _FIGURES:
        if (match := pattern.match(sentence)) and not _UNFINISHED.search(match["subject"]):
            return _filled(question, match, text), ""
    if match := _DEFINITION.match(sentence):
        return "", _filled("What {verb} {subject}?", match, text)
    return "", ""


def from_heading(heading: str, title: str, text: str) -> str:
    """Ask about a section; "" for a heading that nobody would ask about in these words.

    >>> from_heading("Annual leave", "Leave", "Annual leave\\n\\nEmployees take annual leave.")
    'What should I know about annual leave?'
    >>> from_heading("Claiming", "Travel", "")
    'What does “Travel” say about claiming?'
    """
    if not re.match(r"[A-Za-z]", heading):
        return ""
    inside = _inside(heading, text, is_heading=True)
    if _WHEN.fullmatch(heading):
        return f"What should I do {inside}?"
    if match := _HOW_TO.fullmatch(heading):
        return f"How do I {match['do']}?"
    if _CLAUSE.match(heading):
        return ""
    if " " in heading:
        return f"What should I know about {inside}?"
    return f"What does “{title}” say about {inside}?" if len(title) <= MAX_TITLE_CHARS else ""


def from_title(title: str) -> str:
    """Ask what a document is about."""
    return f"What is “{title}” about?"


def _filled(question: str, match: re.Match[str], text: str) -> str:
    parts = match.groupdict()
    verb = parts["verb"]
    parts |= {
        "subject": _inside(parts["subject"], text),
        "do": "does" if verb.endswith("s") else "do",
        "base": _base(verb),
    }
    return question.format(**parts)


def _base(verb: str) -> str:
    """Take the ending of the third person off a verb.

    >>> [_base(verb) for verb in ("lifts", "reaches", "carries", "closes", "open")]
    ['lift', 'reach', 'carry', 'close', 'open']
    """
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if re.search(r"(?:ch|sh|ss|x|zz|o)es$", verb):
        return verb[:-2]
    return verb.removesuffix("s")


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _inside(phrase: str, text: str, *, is_heading: bool = False) -> str:
    """Write a phrase as it stands inside a sentence: a name keeps its capital letter."""
    first, _, remainder = phrase.partition(" ")
    lower = first[:1].lower() + first[1:]
    if not lower[1:].islower() and len(first) > 1:
        return phrase  # an abbreviation
    is_name = re.search(rf"(?<=[a-z,] ){re.escape(first)}\b", text)
    is_common = (
        _DETERMINER.match(phrase)
        or re.search(rf"(?<![\w-]){re.escape(lower)}\b", text)
        or (is_heading and not is_name)
    )
    return f"{lower if is_common else first} {remainder}".strip()
