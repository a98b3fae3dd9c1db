"""Marks in a query: "phrases", +required and -excluded words.

The rules are strict, so that ordinary questions demand nothing by accident.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ragkit.text.analyse import analyse

# A longer query, or one of several lines, is pasted text: its marks are not the user's.
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
    required: bool


@dataclass(frozen=True, slots=True)
class Marked:
    """A query's text without its excluded words, and its demands."""

    text: str
    demands: tuple[Demand, ...] = ()


def read_marks(query: str) -> Marked:
    """Separate a query's marks from its text.

    A query that excludes every word of its own demands nothing.

    >>> read_marks('"force majeure" clause -insurance')
    Marked(text='"force majeure" clause  ', demands=(Demand(text='force majeure', required=True), \
Demand(text='insurance', required=False)))
    """
    if len(query) > MAX_MARKED_CHARS or "\n" in query.strip():
        return Marked(query)
    demands: list[Demand] = []
    pieces: list[str] = []
    end = 0
    for match in _MARK.finditer(query):
        sign = match["sign"] or match["before"]
        text = match["quoted"][1:-1] if match["quoted"] else match["word"]
        if not analyse(text):
            continue
        demands.append(Demand(text, sign is None or sign in _PLUS))
        pieces += [query[end : match.start()], match[0] if demands[-1].required else " "]
        end = match.end()
    text = "".join([*pieces, query[end:]])
    return Marked(text, tuple(demands)) if analyse(text) else Marked(query)


@dataclass(frozen=True, slots=True)
class Preferred:
    """A question whose marks are preferences: its words, and the marked form to try first.

    `first` is the question with its phrases still marked, `phrases` lists these; both are empty
    for a question without any.
    """

    text: str
    first: str = ""
    phrases: tuple[str, ...] = ()


def read_preferences(question: str) -> Preferred:
    """Read a question's marks as preferences: nothing is required or excluded.

    >>> read_preferences('Is the office "dog friendly"?')
    Preferred(text='Is the office dog friendly?', first='Is the office "dog friendly"?', \
phrases=('dog friendly',))
    >>> read_preferences("smoking -anywhere")
    Preferred(text='smoking anywhere', first='', phrases=())
    """
    phrases = tuple(demand.text for demand in read_marks(question).demands if demand.required)
    if len(question) > MAX_MARKED_CHARS or "\n" in question.strip():
        return Preferred(question)
    text = _MARK.sub(
        lambda match: match["quoted"][1:-1] if match["quoted"] else match["word"], question
    )
    if not phrases or not analyse(text):
        return Preferred(text if analyse(text) else question)
    return Preferred(text, _MARK.sub(_keep_required, question), phrases)


def _keep_required(match: re.Match[str]) -> str:
    sign = match["sign"] or match["before"]
    if sign is None or sign in _PLUS:
        return match[0]
    return match["quoted"][1:-1] if match["quoted"] else match["word"]
