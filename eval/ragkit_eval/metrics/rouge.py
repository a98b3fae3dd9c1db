"""Precision, recall and F of the ROUGE metrics, from overlaps with one or more references.

The units of an overlap are n-grams, subsequences or skip-bigrams.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ragkit.errors import UsageError
from ragkit_eval.metrics.rouge_stemmer import stems
from ragkit_eval.metrics.wordnet import WordNet, open_wordnet
from ragkit_eval.metrics.words import TOKENS, words

Words = tuple[str, ...]
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
    """Divide the hits by the units of each side; a side without units scores 0.0 (ROUGE-1.5.5).

    >>> ratios(Overlap(hits=2, reference=4, prediction=2))
    Rouge(precision=1.0, recall=0.5, f=0.6666666666666666)
    """
    precision = overlap.hits / overlap.prediction if overlap.prediction else 0.0
    recall = overlap.hits / overlap.reference if overlap.reference else 0.0
    return balanced(precision, recall)


def balanced(precision: float, recall: float) -> Rouge:
    """Return precision P, recall R and F = 2PR / (P + R), which is 0.0 if P and R are 0."""
    total = precision + recall
    return Rouge(precision, recall, 2 * precision * recall / total if total else 0.0)


def over_references(
    overlaps: Sequence[Overlap],
    several: Several,
    score: Callable[[Overlap], Rouge] = ratios,
) -> Rouge:
    """Score a prediction against its references.

    "best": the reference with the highest F, the earliest of equals, for references that are
    alternatives. "pool": hits and units summed over the references, which ROUGE-1.5.5 prints by
    default (-f A). "jackknife": each reference is left out in turn, and the best scores among the
    remaining references are averaged; Lin 2004, section 2.1, https://aclanthology.org/W04-1013.
    With a single reference the three agree.
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
                sum(overlap.hits for overlap in overlaps),
                sum(overlap.reference for overlap in overlaps),
                sum(overlap.prediction for overlap in overlaps),
            )
        )
    scores = [score(overlap) for overlap in overlaps]
    if several == "best" or len(scores) == 1:
        return max(scores, key=lambda rouge: rouge.f)
    left_out = [
        max(scores[:out] + scores[out + 1 :], key=lambda rouge: rouge.f)
        for out in range(len(scores))
    ]
    count = len(left_out)
    return Rouge(
        sum(rouge.precision for rouge in left_out) / count,
        sum(rouge.recall for rouge in left_out) / count,
        sum(rouge.f for rouge in left_out) / count,
    )


def rouge_words(text: str, *, stem: bool, wordnet: WordNet | None = None) -> Words:
    """Split a text into words; with `stem`, into stems, by WordNet's forms if it is installed."""
    return stems(text, wordnet or open_wordnet()) if stem else words(text)


def rouge_lines(text: str, *, stem: bool) -> list[Words]:
    """Split each line into words; lines without words are left out."""
    lines = (rouge_words(line, stem=stem) for line in text.split("\n"))
    return [line for line in lines if line]


def rouge_signature(name: str, *, stem: bool, several: Several, details: str = "") -> str:
    """Write the signature of a ROUGE metric; `details` are additional `key:value` pairs."""
    wordnet = open_wordnet() if stem else None
    forms = f"+wordnet-{wordnet.revision}" if wordnet else ""
    stemmer = f"1.5.5{forms}" if stem else "no"
    return f"{name}{details}|tok:{TOKENS}|stem:{stemmer}|refs:{several}|v:1"
