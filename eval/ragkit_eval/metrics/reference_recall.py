"""Reference recall: how much of a reference's words the prediction contains.

The default score of an answer: of the metrics that need no model it agrees best with people, who
do not mind that an answer says more than the reference does.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from ragkit.errors import UsageError
from ragkit.text.analyse import ANALYSER, analyse

_KEPT_TEXTS = 1024


def reference_recall(prediction: str, references: Sequence[str]) -> float:
    """Return the share of a reference's terms that the prediction has, of the best reference.

    Terms are those of ragkit's analyser: English stems, pairs of Chinese characters; each counts at
    most as often as the prediction has it. A reference without a term scores 1.0 against a
    prediction without any, else 0.0. Raises UsageError without a reference. Source: Adlakha et al.
    2024, https://doi.org/10.1162/tacl_a_00667.

    >>> reference_recall("It was signed in Paris in 1783.", ["Paris, 1783", "in 1784"])
    1.0
    """
    if not references:
        raise UsageError("reference recall needs at least one reference: give one")
    own = _terms(prediction)
    return max(_recall(own, _terms(text)) for text in references)


def signature() -> str:
    """Return all that the values depend on."""
    return f"reference_recall|tok:{ANALYSER}|v:1"


@lru_cache(maxsize=_KEPT_TEXTS)
def _terms(text: str) -> Counter[str]:
    return Counter(analyse(text))


def _recall(own: Counter[str], theirs: Counter[str]) -> float:
    if not theirs:
        return float(not own)
    return sum(min(own[term], n) for term, n in theirs.items()) / theirs.total()
