"""What the ROUGE metrics share: how overlaps become precision, recall and F, over references.

It knows nothing of what is counted: n-grams, subsequences or skip-bigrams.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ragkit.errors import UsageError
from ragkit_eval.metrics.wordnet import WordNet, open_wordnet
from ragkit_eval.metrics.words import TOKENS, stems, words

Several = Literal["best", "pool", "jackknife"]
Statistic = Literal["f", "precision", "recall"]


@dataclass(frozen=True, slots=True)
class Rouge:
    """Precision, recall and their balanced F, each 0 to 1."""

    precision: float
    recall: float
    f: float

    def value(self, statistic: Statistic) -> float:
        """Return one of the three."""
        value: float = getattr(self, statistic)
        return value


@dataclass(frozen=True, slots=True)
class Overlap:
    """Units that a prediction and one reference share, and the units that each has."""

    hits: float
    reference: float
    prediction: float


def ratios(overlap: Overlap) -> Rouge:
    """Divide the hits by each side's units; a side without any scores 0.0, as ROUGE-1.5.5 has it.

    >>> ratios(Overlap(hits=2, reference=4, prediction=2))
    Rouge(precision=1.0, recall=0.5, f=0.6666666666666666)
    """
    precision = overlap.hits / overlap.prediction if overlap.prediction else 0.0
    recall = overlap.hits / overlap.reference if overlap.reference else 0.0
    return balanced(precision, recall)


def balanced(precision: float, recall: float) -> Rouge:
    """Join precision P and recall R with F = 2PR / (P + R), 0.0 when both are."""
    total = precision + recall
    return Rouge(precision, recall, 2 * precision * recall / total if total else 0.0)


def over_references(
    overlaps: Sequence[Overlap],
    several: Several,
    score: Callable[[Overlap], Rouge] = ratios,
) -> Rouge:
    """Score one prediction against its references.

    "best": the reference with the highest F, the earliest of equal ones; right where references
    are alternatives. "pool": hits and units summed over the references, what ROUGE-1.5.5 prints by
    default (-f A). "jackknife": the mean, over leaving out each reference in turn, of the best
    among the others; Lin 2004, section 2.1, https://aclanthology.org/W04-1013. With one reference
    the three agree.
    """
    if not overlaps:
        raise UsageError("ROUGE needs at least one reference: give one")
    if several not in get_args(Several):
        raise UsageError(
            f"ROUGE takes several references as {', '.join(get_args(Several))}, not {several!r}"
        )
    if several == "pool":
        return score(
            Overlap(
                sum(one.hits for one in overlaps),
                sum(one.reference for one in overlaps),
                sum(one.prediction for one in overlaps),
            )
        )
    scores = [score(one) for one in overlaps]
    if several == "best" or len(scores) == 1:
        return max(scores, key=lambda one: one.f)
    left_out = [
        max(scores[:out] + scores[out + 1 :], key=lambda one: one.f) for out in range(len(scores))
    ]
    count = len(left_out)
    return Rouge(
        sum(one.precision for one in left_out) / count,
        sum(one.recall for one in left_out) / count,
        sum(one.f for one in left_out) / count,
    )


def rouge_words(text: str, *, stem: bool, wordnet: WordNet | None = None) -> tuple[str, ...]:
    """Split a text into words, stemmed with this machine's WordNet, if it has one, when asked."""
    return stems(text, wordnet or open_wordnet()) if stem else words(text)


def rouge_signature(name: str, *, stem: bool, several: Several, details: str = "") -> str:
    """Write the signature of one of the family; `details` are further `key:value` pairs."""
    wordnet = open_wordnet() if stem else None
    stemmer = "no" if not stem else f"porter+wordnet-{wordnet.revision}" if wordnet else "porter"
    return f"{name}{details}|tok:{TOKENS}|stem:{stemmer}|refs:{several}|v:1"
