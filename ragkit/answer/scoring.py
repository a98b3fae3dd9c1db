"""How likely a sentence is to answer a question: a log-linear model of four signals.

The same for all languages. It needs no collection statistics and no model; a term's idf is taken
over the sentences at hand, which is what tells them apart.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragkit.answer.candidates import Candidate
from ragkit.answer.expected import holds
from ragkit.answer.question import Question

# Weights by maximum conditional likelihood on one half of CMRC 2018 (paragraphs and chunks), of
# CLAPNQ and of chunking_evaluation, each set counting alike; rounded. The signals lie in [0, 1],
# but for the rank, which counts -ln(1 + rank).
COVERAGE, RANK, KIND, FOCUS = 8.0, 1.6, 1.75, 1.0
# What a sentence cut by a passage's edge loses: 0, 0.5 and 1 measured the same, and people
# prefer whole ones.
CUT = 0.5
# A term named k sentences earlier counts DECAY**k: 0.25, 0.35 and 0.45 measured within 0.01.
DECAY = 0.4
# A term of the title or headings counts this much in every sentence under them: 0, 0.2, 0.4 and
# 0.6 gave CMRC 2018 with titles 0.875, 0.881, 0.886 and 0.892, and CLAPNQ the same within 0.01.
PATH = 0.6
# A phrase weighs its idf mass to this power, lest a long name drown the rest of the question.
PHRASE_POWER = 0.75


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate, its log-linear score, and the share of the question it covers, in [0, 1]."""

    candidate: Candidate
    score: float
    coverage: float


def score(question: Question, candidates: Sequence[Candidate]) -> list[Scored]:
    """Score the candidates, best first; equals keep the passages' order.

    score = 8 coverage + 1.75 kind + focus - 1.6 ln(1 + rank) - 0.5 cut.
    """
    idf = _idf(question, candidates)
    scored = [_score(question, candidate, idf) for candidate in candidates]
    return sorted(scored, key=lambda item: (-item.score, item.candidate.rank, item.candidate.start))


def _score(question: Question, candidate: Candidate, idf: Mapping[str, float]) -> Scored:
    coverage = _coverage(question, candidate, idf)
    near = _mass(question.focus & candidate.terms, idf) / (_mass(question.focus, idf) or 1.0)
    total = COVERAGE * coverage + FOCUS * near - RANK * math.log(1 + candidate.rank)
    if question.kinds and holds(candidate.text, question.kinds, question.text):
        total += KIND
    if not candidate.whole:
        total -= CUT
    return Scored(candidate, total, coverage)


def _coverage(question: Question, candidate: Candidate, idf: Mapping[str, float]) -> float:
    """Weigh the share of each phrase that the sentence, or fainter its context, names."""
    reach = _reach(candidate)
    covered = total = 0.0
    for phrase in question.phrases:
        mass = _mass(phrase, idf)
        if mass:
            weight = mass**PHRASE_POWER
            found = sum(idf[term] * reach.get(term, 0.0) for term in phrase if term in idf)
            covered += weight * found / mass
            total += weight
    return covered / total if total else 0.0


def _reach(candidate: Candidate) -> dict[str, float]:
    """Map each term in, before or above the sentence to how much it counts there."""
    reach = dict.fromkeys(candidate.path, PATH)
    for distance in range(len(candidate.context), 0, -1):
        for term in candidate.context[distance - 1]:
            reach[term] = max(DECAY**distance, reach.get(term, 0.0))
    reach.update(dict.fromkeys(candidate.terms, 1.0))
    return reach


def _mass(terms: frozenset[str], idf: Mapping[str, float]) -> float:
    return sum(idf.get(term, 0.0) for term in terms)


def _idf(question: Question, candidates: Sequence[Candidate]) -> dict[str, float]:
    """BM25's idf over the candidates, of the question's terms that some candidate has.

    A term that only titles and headings have counts in those.
    """
    asked = question.focus.union(*question.phrases)
    above = Counter(term for candidate in candidates for term in candidate.path & asked)
    within = Counter(term for candidate in candidates for term in candidate.terms & asked)
    return {
        term: math.log(1 + (len(candidates) - n + 0.5) / (n + 0.5))
        for term, n in {**above, **within}.items()
    }
