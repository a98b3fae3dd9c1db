"""METEOR of 2005: words aligned by form, stem and meaning, and a penalty for their order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragkit.errors import UsageError
from ragkit_eval.metrics.alignment import chunks, extend
from ragkit_eval.metrics.crossings import Pairs
from ragkit_eval.metrics.wordnet import WordNet
from ragkit_eval.metrics.words import TOKENS, porter, words

_CACHED_SCORES = 256


@dataclass(frozen=True, slots=True)
class Meteor:
    """The score and the numbers that it is made of."""

    score: float
    precision: float
    recall: float
    matches: int
    chunks: int


def meteor(
    prediction: str, references: str | Sequence[str], *, wordnet: WordNet | None = None
) -> Meteor:
    """Score a prediction by its alignment with the reference that gives the highest score.

    Words are paired one to one in three stages: equal words; then words with the same Porter stem;
    then words that share a synset of `wordnet`, looked up unstemmed. Each stage pairs words that
    no earlier stage paired, and makes the most pairs, then the fewest crossings, then the fewest
    chunks. With m pairs: P = m / words of the prediction, R = m / words of the reference,
    F = 10PR / (R + 9P), score = F * (1 - 0.5 * (chunks / m)^3). A text of m words against itself
    therefore scores 1 - 0.5 / m^3, not 1. Without pairs, and for empty texts, the score is 0.
    Without a wordnet there is no third stage; in Chinese, where each character is a word, only
    equal characters pair.
    Raises UsageError without a reference. Source: Banerjee and Lavie 2005,
    https://aclanthology.org/W05-0909.

    >>> meteor("the cat sat on the mat", "on the mat sat the cat").score
    0.5
    """
    texts = (references,) if isinstance(references, str) else references
    if not texts:
        raise UsageError("METEOR needs at least one reference: give one")
    prediction_words = words(prediction)
    scores = [_score(prediction_words, words(text), wordnet) for text in texts]
    return max(scores, key=lambda scored: scored.score)


def signature(wordnet: WordNet | None = None) -> str:
    """Return the stages and options that the values depend on."""
    stages = f"exact+stem+wordnet-{wordnet.revision}" if wordnet else "exact+stem(no-wordnet)"
    return f"meteor-2005|stages:{stages}|cjk:exact|tok:{TOKENS}|stem:porter|v:1"


def align(
    prediction: Sequence[str], reference: Sequence[str], wordnet: WordNet | None = None
) -> Pairs:
    """Pair the places of two lists of words, stage by stage.

    >>> align(["the", "dogs", "ran"], ["dog", "the"])
    {0: 1, 1: 0}
    """
    pairs = _pair_equal(prediction, reference, {}, lambda word: word)
    pairs = _pair_equal(prediction, reference, pairs, porter)
    if wordnet is None:
        return pairs
    unpaired, targets = _unpaired(prediction, reference, pairs)
    candidates = {
        place: [
            target
            for target in targets
            if wordnet.are_synonyms(prediction[place], reference[target])
        ]
        for place in unpaired
        if wordnet.synsets(prediction[place])
    }
    return _extended(candidates, pairs, classes=False)


def _pair_equal(
    prediction: Sequence[str],
    reference: Sequence[str],
    pairs: Pairs,
    form: Callable[[str], Hashable],
) -> Pairs:
    """Pair the unpaired words whose forms are equal."""
    unpaired, targets = _unpaired(prediction, reference, pairs)
    by_form: dict[Hashable, list[int]] = {}
    for target in targets:
        by_form.setdefault(form(reference[target]), []).append(target)
    candidates = {place: by_form.get(form(prediction[place]), []) for place in unpaired}
    return _extended(candidates, pairs, classes=True)


def _extended(candidates: dict[int, list[int]], pairs: Pairs, *, classes: bool) -> Pairs:
    nonempty = {place: options for place, options in candidates.items() if options}
    return extend(nonempty, pairs, classes=classes) if nonempty else pairs


def _unpaired(
    prediction: Sequence[str], reference: Sequence[str], pairs: Pairs
) -> tuple[list[int], list[int]]:
    paired_targets = set(pairs.values())
    unpaired = [place for place in range(len(prediction)) if place not in pairs]
    return unpaired, [place for place in range(len(reference)) if place not in paired_targets]


@lru_cache(maxsize=_CACHED_SCORES)
def _score(
    prediction: tuple[str, ...], reference: tuple[str, ...], wordnet: WordNet | None
) -> Meteor:
    pairs = align(prediction, reference, wordnet)
    if not pairs:
        return Meteor(0.0, 0.0, 0.0, 0, 0)
    matches, runs = len(pairs), chunks(pairs)
    precision, recall = matches / len(prediction), matches / len(reference)
    mean = 10 * precision * recall / (recall + 9 * precision)
    return Meteor(mean * (1 - 0.5 * (runs / matches) ** 3), precision, recall, matches, runs)
