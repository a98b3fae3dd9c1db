"""How near the sentences are to a question in meaning, in its own language and in the other.

Words choose what is compared, and their score stays a part of the sum.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, pstdev

from ragkit.answer.meaning import Meaning
from ragkit.answer.question import language_of
from ragkit.answer.scoring import KIND, Scored, best_first

# A standard deviation of the cosine among the sentences that are compared; fitted as the weights
# of words were.
MEANING = 0.75
COMPARED = 10  # the best by words; arbitrary, as the next two
COMPARED_OF_FIRST, FIRST_PASSAGES = 7, 2
# Two languages share few words: a sentence in the other language counts by its cosine instead. One
# that covers as much of the question as SHARES_WORDS counts by its words as well; .3 and .7 chose
# the same within .02. These and the next were chosen on one half, by document, of the everyday
# questions about a mixed collection.
SHARES_WORDS = 0.5
OTHER_COSINE, OTHER_RANK, OTHER_BIAS = 24.0, 0.5, -2.0
OTHER_COMPARED, OTHER_PASSAGES = 16, 2
# The other language leads by how much nearer to the question its best passage is, and its best
# sentence, added up. From BESIDE on that sentence is quoted second, from AHEAD on no sentence of
# the question's own language is quoted. Where its best passage is further behind than BEHIND, no
# sentence of it is compared: of 87 such questions none had a lead of BESIDE.
BESIDE, AHEAD, BEHIND = -0.1, 0.1, -0.15


def by_meaning(question: str, ranked: Sequence[Scored], meaning: Meaning) -> list[Scored]:
    """Score the sentences that may answer by their cosine as well, best first.

    The best by words are compared with the question; more of the best passages', which may say it
    in other words; and those of the nearest passages in the other language. Where the model does
    not read the question, the order is left as it is.
    """
    language = language_of(question)
    other = [item for item in ranked if _is_other(item, language, meaning)]
    known = {id(item) for item in other}
    own = [i for i in ranked if id(i) not in known or i.coverage >= SHARES_WORDS]
    lead = _nearest(other) - _nearest([item for item in ranked if id(item) not in known])
    own = _likely(own)
    other = _likely_of_other(other) if lead > BEHIND else []
    cosines = meaning.cosines(question, [item.candidate.shown for item in (*own, *other)])
    if len(cosines) < 2:
        return [*ranked]
    mean, spread = fmean(cosines), pstdev(cosines) or 1.0
    pairs = list(zip((*own, *other), cosines, strict=True))
    own = [
        replace(item, score=item.score + MEANING * (cosine - mean) / spread, cosine=cosine)
        for item, cosine in pairs[: len(own)]
    ]
    other = [
        replace(item, score=_score_of_other(item, cosine), cosine=cosine)
        for item, cosine in pairs[len(own) :]
    ]
    return _joined(best_first(own), best_first(other), lead)


def _is_other(item: Scored, language: str, meaning: Meaning) -> bool:
    """Tell whether a sentence is in another language, and one that the model reads."""
    shown = item.candidate.shown
    return language_of(shown) != language and meaning.reads(shown)


def _nearest(items: Sequence[Scored]) -> float:
    """Return the best cosine of these sentences' passages; those found by words alone have 0."""
    return max((item.candidate.hit.scores.get("dense", 0.0) for item in items), default=0.0)


def _likely(ranked: Sequence[Scored]) -> list[Scored]:
    """Choose the best by words and more of the first passages."""
    rest = [item for item in ranked[COMPARED:] if item.candidate.rank < FIRST_PASSAGES]
    return [*ranked[:COMPARED], *rest[:COMPARED_OF_FIRST]]


def _likely_of_other(ranked: Sequence[Scored]) -> list[Scored]:
    """Choose the sentences of the passages that are nearest in meaning."""
    cosines = {i.candidate.rank: i.candidate.hit.scores.get("dense", 0.0) for i in ranked}
    nearest = sorted(cosines, key=lambda rank: -cosines[rank])[:OTHER_PASSAGES]
    some = [item for rank in nearest for item in ranked if item.candidate.rank == rank]
    return some[:OTHER_COMPARED]


def _score_of_other(item: Scored, cosine: float) -> float:
    rank = math.log(1 + item.candidate.rank)
    return OTHER_BIAS + OTHER_COSINE * cosine - OTHER_RANK * rank + KIND * item.is_of_kind


def _joined(own: list[Scored], other: list[Scored], lead: float) -> list[Scored]:
    """Join the question's own language and the other, whose best passage leads by `lead`."""
    if not own or not other:
        return own or other
    lead += (other[0].cosine or 0.0) - max(item.cosine or 0.0 for item in own[:2])
    if lead > AHEAD:
        return other
    if lead > BESIDE:
        return [own[0], replace(other[0], beside=True), *own[1:]]
    return own
