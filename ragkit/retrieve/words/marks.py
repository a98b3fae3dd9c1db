"""What a query demands by marks: "phrases", +required and -excluded words.

Read so that ordinary questions demand nothing by accident. It knows nothing of indexes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ragkit.text.analyse import analyse

# A longer query, or one of several lines, is text from elsewhere: its marks are its own.
MAX_MARKED_CHARS: Final = 300  # arbitrary
# Straight quotes open and close a phrase outside words only: 5" is five inches.
_QUOTED = r'(?<![A-Za-z0-9])["＂][^"＂]+["＂](?![A-Za-z0-9])|“[^“”]+”|「[^「」]+」|『[^『』]+』'
# A sign counts at the beginning of a word or quotation after white space, never before a digit
# (-5 degrees, +49 30), another sign (--flag) or a lone letter (-v).
_SIGN = r"(?<!\S)(?P<{}>[+＋\-－−])"
_WORD = r"(?![A-Za-z](?!\w))(?P<word>[^\W\d_]\S*)"
_MARK: Final = re.compile(
    rf"(?:{_SIGN.format('sign')})?(?P<quoted>{_QUOTED})|{_SIGN.format('before')}{_WORD}"
)
_PLUS: Final = frozenset("+＋")


@dataclass(frozen=True, slots=True)
class Demand:
    """Words that must follow one another in a passage, or must not."""

    text: str
    wanted: bool


@dataclass(frozen=True, slots=True)
class Marked:
    """A query's text without what it excludes, and what it demands."""

    text: str
    demands: tuple[Demand, ...] = ()


def read(query: str) -> Marked:
    """Take a query's marks out of it.

    One that excludes everything it says demands nothing.

    >>> read('"force majeure" clause -insurance')
    Marked(text='"force majeure" clause  ', demands=(Demand(text='force majeure', wanted=True), \
Demand(text='insurance', wanted=False)))
    """
    if len(query) > MAX_MARKED_CHARS or "\n" in query.strip():
        return Marked(query)
    demands: list[Demand] = []
    left: list[str] = []
    end = 0
    for match in _MARK.finditer(query):
        sign = match["sign"] or match["before"]
        text = match["quoted"][1:-1] if match["quoted"] else match["word"]
        if not analyse(text):
            continue
        demands.append(Demand(text, sign is None or sign in _PLUS))
        left += [query[end : match.start()], match[0] if demands[-1].wanted else " "]
        end = match.end()
    text = "".join([*left, query[end:]])
    return Marked(text, tuple(demands)) if analyse(text) else Marked(query)


@dataclass(frozen=True, slots=True)
class Preferred:
    """A question whose marks are preferences: its words alone, and what is tried before them.

    `first` is the question with its phrases still marked, `phrases` lists these; both are empty
    for a question without any.
    """

    text: str
    first: str = ""
    phrases: tuple[str, ...] = ()


def preferred(question: str) -> Preferred:
    """Take a question's marks as a person means them who asks: nothing is required or excluded.

    >>> preferred('Is the office "dog friendly"?')
    Preferred(text='Is the office dog friendly?', first='Is the office "dog friendly"?', \
phrases=('dog friendly',))
    >>> preferred("smoking -anywhere")
    Preferred(text='smoking anywhere', first='', phrases=())
    """
    phrases = tuple(demand.text for demand in read(question).demands if demand.wanted)
    if len(question) > MAX_MARKED_CHARS or "\n" in question.strip():
        return Preferred(question)
    text = _MARK.sub(
        lambda match: match["quoted"][1:-1] if match["quoted"] else match["word"], question
    )
    if not phrases or not analyse(text):
        return Preferred(text if analyse(text) else question)
    return Preferred(text, _MARK.sub(_marked_if_wanted, question), phrases)


def _marked_if_wanted(match: re.Match[str]) -> str:
    sign = match["sign"] or match["before"]
    if sign is None or sign in _PLUS:
        return match[0]
    return match["quoted"][1:-1] if match["quoted"] else match["word"]
