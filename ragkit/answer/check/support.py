"""How much of a sentence its cited sources contain, and the support that this makes.

Texts are compared by words; `ragkit.answer.check.claim_signals` adds other signals, and
`ragkit.answer.check.entailment` compares the meaning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

from ragkit.answer.check.names import NameSet
from ragkit.answer.check.numbers import NumberSet, find_numbers, number_values
from ragkit.answer.check.quotations import Folded, fold
from ragkit.answer.check.sentence import PreparedSentence
from ragkit.question.reading import FUNCTION_WORDS
from ragkit.text.analyse import CJK, analyse, in_pairs
from ragkit.text.sentences import sentences
from ragkit.types import Support

# Fitted on half of CLAPNQ's human answers and of CMRC 2018's questions with their answers put in,
# each also with a number, a name or the whole passage changed; docs/check-an-answer.md has what
# the other halves say: 49 of 50 true sentences are covered by 0.80 (English) or 0.65 (Chinese) and
# more, 19 of 20 other passages cover 0.17 at most. 0.7 and 0.8 pass 97% and 88% of the Chinese
# ones, and 23% and 8% of those with a changed name; English does not feel the difference.
SUPPORTED = 0.75
NOT_FOUND = 0.35
ENTAILED = 0.5  # more likely than not
# A number must stand in a sentence of the source that holds this share of what the whole source
# holds of the claim. Of sentences with another number of the same passage in a number's place, 82%
# (English) and 64% (Chinese) fail, of the true ones 5% and 3%; 0.4 gives 92% and 71%, 9% and 5%.
NEAR = 0.3
_MOST_NUMBERS = 64  # of one sentence, each of which is compared with all of it; arbitrary
_SHORT = 5  # terms; a table's row or a list's item is read with its neighbours

_CHINESE_FUNCTION = frozenset(
    "的是在了和与與及等于於有由被为為从從到對对中上下里裏以所而其也都就这這那個个共一位"
)
_RUN = re.compile(f"[{CJK}]+")
_FUNCTION = re.compile(FUNCTION_WORDS, re.IGNORECASE)


class Evidence:
    """The source of a cited number: a passage, its title and headings; prepared when needed."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self.pieces = tuple(pieces)

    @cached_property
    def folded(self) -> tuple[Folded, ...]:
        """The pieces in comparable form, for locating quotations."""
        return tuple(map(fold, self.pieces))

    @cached_property
    def numbers(self) -> NumberSet:
        """The numbers in the pieces."""
        return NumberSet.of(self.pieces)

    @cached_property
    def names(self) -> NameSet:
        """The words in the pieces, for looking up names."""
        return NameSet.of(self.pieces)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The analyser's terms of the pieces."""
        return frozenset(term for piece in self.pieces for term in analyse(piece))

    @cached_property
    def stated(self) -> tuple[PreparedSentence, ...]:
        """The sentences of the pieces, each once."""
        texts = (piece[span.start : span.end] for piece in self.pieces for span in sentences(piece))
        return tuple(PreparedSentence(text) for text in dict.fromkeys(texts) if analyse(text))

    @cached_property
    def values(self) -> frozenset[str]:
        """The values of the numbers in the pieces, in digits or in words."""
        return number_values("\n".join(self.pieces))

    @cached_property
    def places(self) -> tuple[tuple[NumberSet, frozenset[str]], ...]:
        """The numbers of each sentence, with its terms, or those of it and its neighbours."""
        return tuple(place for piece in self.pieces for place in _places(piece))


def coverage(claim: str, evidence: Sequence[Evidence]) -> float:
    """Return the share of a sentence's content in its evidence; 1 for a sentence without content.

    A content word counts 1, and is covered if its stem is there; a content character of Chinese
    counts 1/2, and is covered if a pair with its neighbour is.

    >>> round(coverage("The pump weighs 40 kg", [Evidence(["Its weight: a 40 kg pump."])]), 2)
    0.75
    """
    return held_share(claim, frozenset[str]().union(*(source.terms for source in evidence)))


def count_misplaced(claim: str, evidence: Sequence[Evidence]) -> int:
    """Count a sentence's numbers that its evidence gives for something else.

    >>> pump = Evidence(["The pump needs 230 volts when it runs. Its dry weight is 40 kg in all."])
    >>> [count_misplaced(f"The pump needs {n} volts.", [pump]) for n in (230, 40)]
    [0, 1]
    """
    claimed = find_numbers(claim)[:_MOST_NUMBERS]
    full_share = coverage(claim, evidence) if claimed else 0.0
    count = 0
    for number in claimed:
        remainder = f"{claim[: number.start]} {claim[number.end :]}"
        places = [place for source in evidence for place in source.places if number in place[0]]
        near = max((held_share(remainder, terms) for _, terms in places), default=1.0)
        count += near < NEAR * full_share
    return count


def _places(piece: str) -> Iterator[tuple[NumberSet, frozenset[str]]]:
    spans = sentences(piece)
    texts = [piece[span.start : span.end] for span in spans]
    terms = [frozenset(analyse(text)) for text in texts]
    for i, text in enumerate(texts):
        short = len(terms[i]) < _SHORT or text.startswith("|")
        near = terms[max(0, i - 1) : i + 2] if short else terms[i : i + 1]
        yield NumberSet.of([text]), frozenset[str]().union(*near)


def held_share(claim: str, terms: Collection[str]) -> float:
    """Return the share of a sentence's content among some terms, as `coverage` counts."""
    plain = _FUNCTION.sub(" ", claim)
    words = [word for word in dict.fromkeys(analyse(plain)) if not _RUN.match(word)]
    total = float(len(words))
    held = float(sum(word in terms for word in words))
    for run in _RUN.findall(claim):
        counted, covered = _characters(run, terms)
        total += counted / 2
        held += covered / 2
    return held / total if total else 1.0


def has_content(claim: str) -> bool:
    """Tell whether a sentence has any content to compare."""
    return bool(analyse(_FUNCTION.sub(" ", claim)))


def judge_by_words(share: float, missing: int, entailed: float | None = None) -> Support:
    """Judge a sentence by its coverage, and by its missing pieces; see `choose_support`."""
    return choose_support(share >= SUPPORTED, share, missing, entailed)


def choose_support(
    is_held: bool, share: float, missing: int, entailed: float | None = None
) -> Support:
    """Choose by the signals or words (`is_held`) and the coverage (`share`).

    `missing` counts the numbers, names and quotations that no source has. `entailed` is a model's
    probability that the sources entail the sentence: a paraphrase may then have little coverage,
    and signals or words alone prove only half.
    """
    held = is_held and not missing
    if entailed is None:
        if held:
            return "supported"
        return "not found" if share < NOT_FOUND else "partly"
    if entailed >= ENTAILED:
        return "partly" if missing else "supported"
    return "partly" if held else "not found"


def _characters(run: str, terms: Collection[str]) -> tuple[int, int]:
    """Count a Chinese run's content characters, and those in a pair among the terms."""
    if len(run) == 1:
        return (0, 0) if run in _CHINESE_FUNCTION else (1, int(run in terms))
    content = [character not in _CHINESE_FUNCTION for character in run]
    return sum(content), sum(map(all, zip(content, in_pairs(run, terms), strict=True)))
