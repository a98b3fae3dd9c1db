"""Contains: whether the prediction has a reference in it, word for word."""

from collections.abc import Sequence

from ragkit_eval.metrics.references import check_references
from ragkit_eval.metrics.words import TOKENS, words


def contains(prediction: str, references: Sequence[str]) -> float:
    """Return 1.0 if the prediction has all words of a reference in a row, else 0.0.

    Case, punctuation and width are ignored; English matches whole words, Chinese any run of
    characters. Only a prediction without a word contains a reference without a word. Raises
    UsageError without a reference. Source: the accuracy of Mallen et al. 2023,
    https://aclanthology.org/2023.acl-long.546, by words instead of characters.

    >>> contains("It is Paris.", ["paris"]), contains("a comparison", ["Paris"])
    (1.0, 0.0)
    """
    check_references(references, "contains")
    prediction_words = words(prediction)
    return float(any(_is_run_of(words(text), prediction_words) for text in references))


def signature() -> str:
    """Return the tokens and the version that the values depend on."""
    return f"contains|tok:{TOKENS}|v:1"


def _is_run_of(part: tuple[str, ...], text: tuple[str, ...]) -> bool:
    if not part:
        return not text
    places = range(len(text) - len(part) + 1)
    return any(text[i] == part[0] and text[i : i + len(part)] == part for i in places)
