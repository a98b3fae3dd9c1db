"""METEOR of 2005: words aligned by form, stem and meaning, and a penalty for their order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragkit.errors import UsageError
from ragkit_eval.metrics.alignment import Pairs, chunks, extend
from ragkit_eval.metrics.wordnet import WordNet
from ragkit_eval.metrics.words import TOKENS, porter, words

_KEPT_TEXTS = 256


@dataclass(frozen=True, slots=True)
class Meteor:
    """The score, and what it comes from."""

    score: float
    precision: float
    recall: float
    matches: int
    chunks: int


def meteor(
    prediction: str, references: str | Sequence[str], *, wordnet: WordNet | None = None
) -> Meteor:
    """Score a prediction by its alignment with the reference that gives the highest score.

    Words are paired one to one in three stages: equal words; then, of the rest, words with the same
    Porter stem; then words that share a synset of `wordnet`, looked up as they stand, not stemmed.
    Each stage makes the most pairs, of those with the fewest crossings, of those in fewest chunks.
    With m pairs: P = m / words of the prediction, R = m / words of the reference,
    F = 10PR / (R + 9P), score = F * (1 - 0.5 * (chunks / m)^3). So a text of m words against itself
    scores 1 - 0.5 / m^3, not 1. Without pairs, and for empty texts, it is 0. Without a wordnet the
    third stage is left out; in Chinese, whose characters are the words, only equal ones pair.
    Raises UsageError without a reference. Source: Banerjee and Lavie 2005,
    https://aclanthology.org/W05-0909.

    >>> meteor("the cat sat on the mat", "on the mat sat the cat").score
    0.5
    """
    texts = (references,) if isinstance(references, str) else references
    if not texts:
        raise UsageError("METEOR needs at least one reference: give one")
    own = words(prediction)
    scores = [_score(own, words(text), wordnet) for text in texts]
    return max(scores, key=lambda one: one.score)


def signature(wordnet: WordNet | None = None) -> str:
    """Return all that the values depend on; it says which stages there are."""
    stages = f"exact+stem+wordnet-{wordnet.revision}" if wordnet else "exact+stem(no-wordnet)"
    return f"meteor-2005|stages:{stages}|cjk:exact|tok:{TOKENS}|stem:porter|v:1"


def align(
    prediction: Sequence[str], reference: Sequence[str], wordnet: WordNet | None = None
) -> Pairs:
    """Pair the places of two lists of words, stage by stage.

    >>> align(["the", "dogs", "ran"], ["dog", "the"])
    {0: 1, 1: 0}
    """
    pairs = _same(prediction, reference, {}, lambda word: word)
    pairs = _same(prediction, reference, pairs, porter)
    if wordnet is None:
        return pairs
    own, theirs = _unpaired(prediction, reference, pairs)
    candidates = {
        place: [
            other for other in theirs if wordnet.are_synonyms(prediction[place], reference[other])
        ]
        for place in own
        if wordnet.synsets(prediction[place])
    }
    return _extended(candidates, pairs, classes=False)


def _same(
    prediction: Sequence[str],
    reference: Sequence[str],
    pairs: Pairs,
    form: Callable[[str], Hashable],
) -> Pairs:
    """Pair the words left whose forms are equal."""
    own, theirs = _unpaired(prediction, reference, pairs)
    by_form: dict[Hashable, list[int]] = {}
    for other in theirs:
        by_form.setdefault(form(reference[other]), []).append(other)
    candidates = {place: by_form.get(form(prediction[place]), []) for place in own}
    return _extended(candidates, pairs, classes=True)


def _extended(candidates: dict[int, list[int]], pairs: Pairs, *, classes: bool) -> Pairs:
    some = {place: options for place, options in candidates.items() if options}
    return extend(some, pairs, classes=classes) if some else pairs


def _unpaired(
    prediction: Sequence[str], reference: Sequence[str], pairs: Pairs
) -> tuple[list[int], list[int]]:
    taken = set(pairs.values())
    own = [place for place in range(len(prediction)) if place not in pairs]
    return own, [place for place in range(len(reference)) if place not in taken]


@lru_cache(maxsize=_KEPT_TEXTS)
def _score(own: tuple[str, ...], theirs: tuple[str, ...], wordnet: WordNet | None) -> Meteor:
    pairs = align(own, theirs, wordnet)
    if not pairs:
        return Meteor(0.0, 0.0, 0.0, 0, 0)
    matches, runs = len(pairs), chunks(pairs)
    precision, recall = matches / len(own), matches / len(theirs)
    mean = 10 * precision * recall / (recall + 9 * precision)
    return Meteor(mean * (1 - 0.5 * (runs / matches) ** 3), precision, recall, matches, runs)
