"""Contains: whether a reference stands in the prediction, word for word."""

from collections.abc import Sequence

from ragkit_eval.metrics.references import check_references
from ragkit_eval.metrics.words import TOKENS, words


def contains(prediction: str, references: Sequence[str]) -> float:
    """Return 1.0 when the words of a reference stand in the prediction in a row, else 0.0.

    Case, punctuation and width are ignored; English matches whole words only, Chinese any run of
    characters. A reference without a word is contained only in a prediction without any. Raises
    UsageError without a reference. Source: the accuracy of Mallen et al. 2023,
    https://aclanthology.org/2023.acl-long.546, by words instead of characters.

    >>> contains("It is Paris.", ["paris"]), contains("a comparison", ["Paris"])
    (1.0, 0.0)
    """
    check_references(references, "contains")
    own = words(prediction)
    return float(any(_stands_in(words(text), own) for text in references))


def signature() -> str:
    """Return all that the values depend on."""
    return f"contains|tok:{TOKENS}|v:1"


def _stands_in(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    if not part:
        return not whole
    places = range(len(whole) - len(part) + 1)
    return any(whole[i] == part[0] and whole[i : i + len(part)] == part for i in places)
