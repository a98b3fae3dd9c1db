"""Score sentences by meaning as well, in the question's language and in the other.

Words choose the sentences that are compared, and their score stays a part of the sum.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, pstdev

from ragkit.answer.meaning import Meaning
from ragkit.answer.write.sentence_scores import KIND, Scored, best_first
from ragkit.question.reading import language_of, read_question

# The weight of a standard deviation of the cosine among the compared sentences; fitted as the
# weights of words were.
MEANING = 0.75
COMPARED = 10  # sentences, best by words; arbitrary, as the next two
COMPARED_OF_FIRST, FIRST_PASSAGES = 7, 2
# Two languages share few words: a sentence in the other language counts by its cosine instead. One
# that covers as much of the question as SHARES_WORDS counts by its words as well; .3 and .7 chose
# the same within .02. These and the next were chosen on one half, by document, of the everyday
# questions about a mixed collection.
SHARES_WORDS = 0.5
OTHER_COSINE, OTHER_RANK, OTHER_BIAS = 24.0, 0.5, -2.0
OTHER_COMPARED, OTHER_PASSAGES = 16, 2
# The lead of the other language is how much nearer to the question its best passage and its best
# sentence are, added up. From BESIDE on that sentence is quoted second, from AHEAD on no sentence
# of the question's own language is quoted. Where its best passage is further behind than BEHIND,
# none of its sentences is compared: of 87 such questions none had a lead of BESIDE.
BESIDE, AHEAD, BEHIND = -0.1, 0.1, -0.15


def rescore_by_meaning(question: str, ranked: Sequence[Scored], meaning: Meaning) -> list[Scored]:
    """Add the cosine to the score of the sentences that may answer; return them best first.

    Compared are the best by words, more from the best passages, which may use other words, and
    those of the nearest passages in the other language, which is not quoted where the best sentence
    in the question's own has all its words. Where the model does not read the question, the order
    stays.
    """
    language = language_of(question)
    foreign = [item for item in ranked if _is_foreign(item, language, meaning)]
    foreign_ids = {id(item) for item in foreign}
    native = [i for i in ranked if id(i) not in foreign_ids or i.coverage >= SHARES_WORDS]
    lead = _nearest(foreign) - _nearest([item for item in ranked if id(item) not in foreign_ids])
    native = _likely(native)
    foreign = _likely_foreign(foreign) if lead > BEHIND else []
    cosines = meaning.cosines(question, [item.candidate.display for item in (*native, *foreign)])
    if not cosines:
        return [*ranked]
    mean, spread = fmean(cosines), pstdev(cosines) or 1.0
    pairs = list(zip((*native, *foreign), cosines, strict=True))
    native = [
        replace(item, score=item.score + MEANING * (cosine - mean) / spread, cosine=cosine)
        for item, cosine in pairs[: len(native)]
    ]
    foreign = [
        replace(item, score=_foreign_score(item, cosine), cosine=cosine)
        for item, cosine in pairs[len(native) :]
    ]
    native = best_first(native)
    if native and _has_all_words(question, native[0]):
        return native
    return _join_languages(native, best_first(foreign), lead)


def _has_all_words(question: str, item: Scored) -> bool:
    """Tell whether a sentence, with what stands above it, has every word of the question."""
    units = read_question(question).units
    return bool(units) and units <= item.candidate.reach


def _is_foreign(item: Scored, language: str, meaning: Meaning) -> bool:
    """Tell whether a sentence is in another language, and one that the model reads."""
    text = item.candidate.display
    return language_of(text) != language and meaning.reads(text)


def _nearest(items: Sequence[Scored]) -> float:
    """Return the best cosine of these sentences' passages; hits by words alone have 0."""
    return max((item.candidate.hit.scores.get("dense", 0.0) for item in items), default=0.0)


def _likely(ranked: Sequence[Scored]) -> list[Scored]:
    """Choose the best by words and more of the first passages."""
    others_of_first = [item for item in ranked[COMPARED:] if item.candidate.rank < FIRST_PASSAGES]
    return [*ranked[:COMPARED], *others_of_first[:COMPARED_OF_FIRST]]


def _likely_foreign(ranked: Sequence[Scored]) -> list[Scored]:
    """Choose the sentences of the passages that are nearest in meaning."""
    cosines = {i.candidate.rank: i.candidate.hit.scores.get("dense", 0.0) for i in ranked}
    nearest = sorted(cosines, key=lambda rank: -cosines[rank])[:OTHER_PASSAGES]
    sentences = [item for rank in nearest for item in ranked if item.candidate.rank == rank]
    return sentences[:OTHER_COMPARED]


def _foreign_score(item: Scored, cosine: float) -> float:
    rank = math.log(1 + item.candidate.rank)
    return OTHER_BIAS + OTHER_COSINE * cosine - OTHER_RANK * rank + KIND * item.is_of_kind


def _join_languages(native: list[Scored], foreign: list[Scored], lead: float) -> list[Scored]:
    """Join the sentences of both languages; the other's best passage leads by `lead`."""
    if not native or not foreign:
        return native or foreign
    lead += (foreign[0].cosine or 0.0) - max(item.cosine or 0.0 for item in native[:2])
    if lead > AHEAD:
        return foreign
    if lead > BESIDE:
        return [native[0], replace(foreign[0], in_addition=True), *native[1:]]
    return native
