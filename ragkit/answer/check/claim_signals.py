"""Whether a sentence of prose is true to its sources: signals, and the probability of it.

The signals come from a sentence and its sources; a logistic regression weighs them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from ragkit.answer.check.exchanged_parts import is_passive, measure_exchange
from ragkit.answer.check.sentence import PreparedSentence
from ragkit.answer.check.support import Evidence, held_share
from ragkit.question.reading import has_cjk

CANDIDATES = 3  # sentences of the sources that are embedded; five measured the same
_NEAREST = 2  # sentences in which numbers and names are looked for
_ABOUT = 0.3  # of a clause's content: a source's clause with so much of it has the same subject
_MOST = 2  # missing items that count: more make no difference


@dataclass(frozen=True, slots=True)
class Signals:
    """Signals for and against a sentence.

    `clause`: of the clause with the least support, the share of its content in one sentence of the
    sources; `cosine`: of the sentence and the nearest one of the sources, None where no model
    reads it. Counts up to 2: numbers and names that no source has (`numbers_missing`,
    `names_missing`), and those that stand only in sentences about something else
    (`numbers_elsewhere`, `names_elsewhere`). 0 or 1: `denies` what the nearest sentence does not
    deny, or `affirms` what a clause of it denies. `exchanged`, 0 to 1: two parts have changed
    places. `chinese`, 0 or 1, as shares and cosines of the two scripts differ.
    """

    clause: float
    cosine: float | None
    numbers_missing: int = 0
    numbers_elsewhere: int = 0
    names_missing: int = 0
    names_elsewhere: int = 0
    denies: bool = False
    affirms: bool = False
    exchanged: float = 0.0
    chinese: bool = False


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic regression on the signals: the weight of each, and the bias."""

    bias: float
    clause: float
    cosine: float
    numbers_missing: float
    numbers_elsewhere: float
    names_missing: float
    names_elsewhere: float
    denies: float
    affirms: float
    exchanged: float
    chinese: float

    def probability(self, signals: Signals) -> float:
        """Return the probability that the sources support a sentence, 0 to 1."""
        logit = self.bias + math.fsum(
            getattr(self, field.name) * (getattr(signals, field.name) or 0.0)
            for field in fields(Signals)
        )
        return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0

    def passes(self, signals: Signals) -> bool:
        """Tell whether a sentence is supported: probable, and without a number that no source
        has.
        """
        return not signals.numbers_missing and self.probability(signals) >= THRESHOLD


# Fitted by `python -m benchmarks.prose_fit` on one half, by document, of sentences that a language
# model wrote about everyday documents and the example handbook, and of CLAPNQ's and CMRC 2018's
# with rules for making them false; rounded. From the threshold on, 94% of the true sentences made
# of that half pass, and 77% of the written ones. docs/benchmarks.md has what the other half says.
THRESHOLD = 0.45
BY_WORDS = Weights(
    bias=-0.6,
    clause=2.4,
    cosine=0.0,
    numbers_missing=-2.3,
    numbers_elsewhere=-1.1,
    names_missing=-3.5,
    names_elsewhere=-1.7,
    denies=-1.7,
    affirms=-0.8,
    exchanged=-0.4,
    chinese=-0.15,
)
# By the name of the embedding model. Cosines of other models mean something else: with those,
# sentences are judged by words.
BY_MODEL = {
    "multilingual-e5-small": Weights(
        bias=-2.6,
        clause=1.7,
        cosine=3.6,
        numbers_missing=-2.4,
        numbers_elsewhere=-1.25,
        names_missing=-3.7,
        names_elsewhere=-1.3,
        denies=-1.6,
        affirms=-0.9,
        exchanged=-0.6,
        chinese=-0.2,
    ),
    "all-MiniLM-L6-v2": Weights(
        bias=-1.9,
        clause=1.9,
        cosine=2.2,
        numbers_missing=-1.8,
        numbers_elsewhere=-1.1,
        names_missing=-3.4,
        names_elsewhere=-1.1,
        denies=-2.0,
        affirms=-1.1,
        exchanged=-0.5,
        chinese=0.0,  # it reads English alone
    ),
}


def choose_candidates(
    claim: PreparedSentence, evidence: Sequence[Evidence]
) -> list[PreparedSentence]:
    """Choose the sources' sentences that hold most of a claim, best first."""
    stated = (sentence for source in evidence for sentence in source.stated)
    return sorted(stated, key=lambda sentence: -held_share(claim.text, sentence.terms))[:CANDIDATES]


def claim_signals(
    claim: PreparedSentence,
    evidence: Sequence[Evidence],
    chosen: Sequence[PreparedSentence],
    cosines: Sequence[float] = (),
) -> Signals:
    """Read a claim's signals; `chosen` are its candidates, `cosines` theirs or none."""
    order = sorted(range(len(chosen)), key=lambda i: -cosines[i]) if cosines else range(len(chosen))
    nearest = [chosen[i] for i in order][:_NEAREST]
    of_sources = frozenset[str]().union(*(source.values for source in evidence))
    near = frozenset[str]().union(*(sentence.values for sentence in nearest))
    present = [name for name in claim.name_words if any(name in s.names for s in evidence)]
    absent = len(claim.name_words) - len(present)
    elsewhere = [name for name in present if not any(name in s.names for s in nearest)]
    return Signals(
        clause=_worst_clause(claim, evidence),
        cosine=max(cosines, default=None),
        numbers_missing=min(_MOST, len(claim.values - of_sources)),
        numbers_elsewhere=min(_MOST, len((claim.values & of_sources) - near)),
        names_missing=min(_MOST, absent),
        names_elsewhere=min(_MOST, len(elsewhere)),
        denies=bool(nearest) and claim.denials > 0 and not nearest[0].denials,
        affirms=_affirms(claim, nearest),
        exchanged=_exchanged(claim, nearest[0]) if nearest else 0.0,
        chinese=has_cjk(claim.text),
    )


def _worst_clause(claim: PreparedSentence, evidence: Sequence[Evidence]) -> float:
    stated = [sentence for source in evidence for sentence in source.stated]
    clauses = [clause for clause in claim.clauses if not clause.is_short] or [claim]
    return min(
        max((held_share(clause.text, sentence.terms) for sentence in stated), default=0.0)
        for clause in clauses
    )


def _affirms(claim: PreparedSentence, nearest: Sequence[PreparedSentence]) -> bool:
    """Tell whether a clause without a denial has the same subject as a source's denying clause."""
    source_clauses = [clause for sentence in nearest for clause in sentence.clauses]
    for clause in claim.clauses:
        shares = [
            (held_share(clause.text, source_clause.terms), source_clause.denials)
            for source_clause in source_clauses
        ]
        share, denied = max(shares, default=(0.0, 0))
        if share >= _ABOUT and denied and not clause.denials:
            return True
    return False


def _exchanged(claim: PreparedSentence, source: PreparedSentence) -> float:
    if is_passive(claim.text) != is_passive(source.text):
        return 0.0
    return measure_exchange(claim.units, source.units)
