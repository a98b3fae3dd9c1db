"""Score how likely a sentence is to answer a question: a log-linear model of a few signals.

The same for all languages, without statistics of the collection: a term's idf is taken over the
sentences at hand, as it has to tell these apart.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragkit.answer.write.candidates import Candidate
from ragkit.question.answer_kinds import has_answer
from ragkit.question.reading import FUNCTION_WORDS, Question
from ragkit.text.analyse import analyse

# Weights by maximum conditional likelihood on one half, by document, of CMRC 2018, of CLAPNQ and
# of chunking_evaluation, each set counting the same; rounded. The signals lie in [0, 1], but for
# the rank, which counts -ln(1 + rank).
COVERAGE, RANK, KIND, FOCUS = 8.0, 1.6, 2.0, 0.6
# Deductions for a sentence that a passage's edge cuts, that only repeats the question, and that
# has other years than the question.
CUT, REPEATS, OTHER_YEAR = 2.0, 2.0, 1.4
TITLE = 4.0  # for a line that seems to be a title; by judgement
# A term k sentences earlier counts DECAY**k: 0.25, 0.35 and 0.45 measured within 0.01. It counts
# more right before a sentence that opens with a pronoun.
DECAY = 0.4
PRONOUN = 0.7
# A term of the title or headings counts this much in every sentence under them: 0, 0.2, 0.4 and
# 0.6 gave CMRC 2018 with titles 0.875, 0.881, 0.886 and 0.892, and CLAPNQ the same within 0.01.
PATH = 0.6
# A term of a question that the document itself answers counts this much in the first sentence
# below, and less with each sentence: by judgement, as no set has such documents.
ASKED, ASKED_DECAY = 1.0, 0.8
# A phrase weighs its idf mass to this power, so that a long name does not outweigh the question.
PHRASE_POWER = 0.75
_FEW_NEW = 2  # terms; a sentence with fewer repeats the question or is a title
SAYS_NOTHING = 5.0  # further deduction without any, unless yes or no is asked for; by judgement

_PRONOUN = re.compile(
    r"(?:it|its|they|their|he|his|she|her|this|these|those|such)\b|[它他她其该該此这這]", re.I
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_FUNCTION = re.compile(FUNCTION_WORDS, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate, its log-linear score, and the share of the question it covers, in [0, 1].

    `is_of_kind`: it holds an answer of the kind that the question asks for. `cosine` is that of the
    sentence and the question, if they were compared. `in_addition`: it is in another language than
    the question, and is quoted after the best sentence in the question's own.
    """

    candidate: Candidate
    score: float
    coverage: float
    is_of_kind: bool = False
    cosine: float | None = None
    in_addition: bool = False


def score_candidates(question: Question, candidates: Sequence[Candidate]) -> list[Scored]:
    """Score the candidates, best first; equals keep the passages' order.

    score = 8 coverage + 2 kind + 0.6 focus - 1.6 ln(1 + rank) - 2 cut - 2 repeats - 1.4 year.
    """
    idf = _idf(question, candidates)
    scored = [_score(question, candidate, idf) for candidate in candidates]
    return best_first(scored)


def best_first(scored: Iterable[Scored]) -> list[Scored]:
    """Sort by score; equals keep the passages' order."""
    return sorted(scored, key=lambda item: (-item.score, item.candidate.rank, item.candidate.start))


def _score(question: Question, candidate: Candidate, idf: Mapping[str, float]) -> Scored:
    coverage = _coverage(question, candidate, idf)
    near = _mass(question.focus & candidate.terms, idf) / (_mass(question.focus, idf) or 1.0)
    total = COVERAGE * coverage + FOCUS * near - RANK * math.log(1 + candidate.rank)
    is_of_kind = has_answer(candidate.display, question.kinds, question.text)
    if is_of_kind:
        total += KIND
    if not candidate.complete:
        total -= CUT
    new_terms = _new_terms(question, candidate)
    if new_terms < _FEW_NEW:
        total -= REPEATS
    if not new_terms and not question.yes_or_no:
        total -= SAYS_NOTHING
    if candidate.is_title:
        total -= TITLE
    if _has_other_years(question, candidate):
        total -= OTHER_YEAR
    return Scored(candidate, total, coverage, is_of_kind)


def _new_terms(question: Question, candidate: Candidate) -> int:
    """Count the content terms of a sentence that the question lacks."""
    return len(frozenset(analyse(_FUNCTION.sub(" ", candidate.display))) - question.content)


def _has_other_years(question: Question, candidate: Candidate) -> bool:
    """Tell whether both contain years and share none."""
    years = set(_YEAR.findall(question.text))
    return (
        bool(years)
        and years.isdisjoint(sentence_years := set(_YEAR.findall(candidate.text)))
        and bool(sentence_years)
    )


def _coverage(question: Question, candidate: Candidate, idf: Mapping[str, float]) -> float:
    """Weigh the share of each phrase in the sentence or, less, in its context."""
    reach = _reach(candidate)
    covered = total = 0.0
    for phrase in question.phrases:
        mass = _mass(phrase, idf)
        if mass:
            weight = mass**PHRASE_POWER
            reached = sum(idf[term] * reach.get(term, 0.0) for term in phrase if term in idf)
            covered += weight * reached / mass
            total += weight
    return covered / total if total else 0.0


def _reach(candidate: Candidate) -> dict[str, float]:
    """Map each term in, before or above the sentence to its weight there."""
    reach = dict.fromkeys(candidate.path, PATH)
    question_weight = ASKED * ASKED_DECAY**candidate.distance
    reach |= {term: max(question_weight, reach.get(term, 0.0)) for term in candidate.question_terms}
    nearest = PRONOUN if _PRONOUN.match(candidate.display) else DECAY
    for distance in range(len(candidate.context), 0, -1):
        weight = nearest if distance == 1 else DECAY**distance
        for term in candidate.context[distance - 1]:
            reach[term] = max(weight, reach.get(term, 0.0))
    reach.update(dict.fromkeys(candidate.terms | candidate.head, 1.0))
    return reach


def _mass(terms: frozenset[str], idf: Mapping[str, float]) -> float:
    return sum(idf.get(term, 0.0) for term in terms)


def _idf(question: Question, candidates: Sequence[Candidate]) -> dict[str, float]:
    """Return BM25's idf over the candidates, of the question's terms that some candidate has.

    A term of titles and headings alone counts in those.
    """
    question_terms = question.focus.union(*question.phrases)
    above = Counter(
        term
        for candidate in candidates
        for term in (candidate.path | candidate.question_terms) & question_terms
    )
    within = Counter(term for candidate in candidates for term in candidate.terms & question_terms)
    return {
        term: math.log(1 + (len(candidates) - n + 0.5) / (n + 0.5))
        for term, n in {**above, **within}.items()
    }
