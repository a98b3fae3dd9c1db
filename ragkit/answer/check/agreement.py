"""Choose among several checked answers to one question the one that the others agree with.

Self-consistency (Wang and others, arXiv:2203.11171), for answers in sentences: claims take the
place of final values, and only a claim that its sources support has a say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.answer.check.sentence import PreparedSentence
from ragkit.text.markers import without_markers

if TYPE_CHECKING:
    from ragkit.types import Answer, Claim

ALIKE: Final = 0.5  # arbitrary: the share of the shorter claim's words that the other has


@dataclass(frozen=True, slots=True)
class Vote:
    """The place of the chosen answer, and how many others agree with each, on average by claim."""

    chosen: int
    agreeing: tuple[float, ...]


def vote(answers: Sequence[Answer]) -> Vote:
    """Choose one of some answers.

    An answer counts as many votes as its claims have on average: of each claim, the number of the
    other answers with a supported claim that cites a passage in common, has the same numbers, as
    many words of denial, and half of the words; 0 of a claim that is not supported itself. A
    refusal has the votes of the other refusals. Of equal votes the answer with more supported
    claims wins, then the first.
    """
    assert answers, "there are answers to choose from"
    claims = [[_Said.of(answer, claim) for claim in answer.claims] for answer in answers]
    supported = [[claim for claim in of_one if claim.is_supported] for of_one in claims]
    agreeing = []
    for place, answer in enumerate(answers):
        others = [n for n in range(len(answers)) if n != place]
        if answer.refused:
            agreeing.append(float(sum(answers[n].refused for n in others)))
            continue
        votes = [
            sum(any(claim.agrees(other) for other in supported[n]) for n in others)
            for claim in supported[place]
        ]
        agreeing.append(sum(votes) / len(claims[place]) if claims[place] else 0.0)
    best = max(range(len(answers)), key=lambda n: (agreeing[n], len(supported[n]), -n))
    return Vote(best, tuple(round(votes, 3) for votes in agreeing))


@dataclass(frozen=True, slots=True)
class _Said:
    """What a claim says: its words, and the passages that it cites."""

    sentence: PreparedSentence
    words: frozenset[str]
    passages: frozenset[int]
    is_supported: bool

    @staticmethod
    def of(answer: Answer, claim: Claim) -> _Said:
        sentence = PreparedSentence(without_markers(answer.text[claim.start : claim.end]))
        passages = frozenset(
            answer.used[n - 1].chunk for n in claim.cites if 1 <= n <= len(answer.used)
        )
        return _Said(sentence, frozenset(sentence.units), passages, claim.is_supported)

    def agrees(self, other: _Said) -> bool:
        """Tell whether both say about the same of a passage that both cite."""
        shorter = min(len(self.words), len(other.words))
        return (
            not self.passages.isdisjoint(other.passages)
            and self.sentence.values == other.sentence.values
            and self.sentence.denials == other.sentence.denials
            and len(self.words & other.words) >= max(1, ALIKE * shorter)
        )
