"""Weigh a question's words where a model searches too: function words not, codes twice.

English function words mean little, yet weigh most where few passages are in English: in a Chinese
collection. Codes like E17 identify most, and mean little to an embedding model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_WORDS: Final = frozenset(
    "a an the and or of in on at to for from by with as about into than is are was were be been"
    " being am do does did has have had can could would should may might i you he she it we they me"
    " my your his her its our their them this that these those there please".split()
)
_CODE: Final = re.compile(r"(?=[a-z]*[0-9])(?=[0-9]*[a-z])[a-z0-9]+")
_WORD: Final = re.compile(r"[^\W_]++(?:['\u2019][^\W_]++)*+")
LEAST_SHARE: Final = 0.2  # of a query's words that must remain; by judgement


def without_function_words(query: str) -> str:
    """Remove the function words from a query, unless too few words remain.

    A word in capitals is a name or an acronym, unless it begins the query: IT, May.

    >>> without_function_words("When does the IT desk open in May?")
    'When   IT desk open  May?'
    >>> without_function_words("to be or not to be")
    'to be or not to be'
    """
    words = list(_WORD.finditer(query))
    dropped = [word for n, word in enumerate(words) if _is_function(word[0], first=n == 0)]
    if len(words) - len(dropped) < LEAST_SHARE * len(words):
        return query
    pieces, end = [], 0
    for word in dropped:
        pieces.append(query[end : word.start()])
        end = word.end()
    return "".join([*pieces, query[end:]])


def with_codes_twice(terms: Sequence[str]) -> list[str]:
    """Repeat the terms of letters and digits: fault codes, models, part numbers.

    >>> with_codes_twice(["fault", "code", "e17"])
    ['fault', 'code', 'e17', 'e17']
    """
    return [*terms, *(term for term in terms if _CODE.fullmatch(term))]


def _is_function(word: str, *, first: bool) -> bool:
    return (word.casefold() if first or word == "I" else word) in _WORDS
