"""Reference recall: how much of a reference's words the prediction contains.

The default score of an answer: of the metrics that need no model it agrees best with people, who
do not mind that an answer says more than the reference does.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from ragkit.text.analyse import CJK, FIRST_ANALYSER
from ragkit.text.analysers import analyser
from ragkit_eval.metrics.references import check_references

_KEPT_TEXTS = 1024
_LONE = re.compile(f"[{CJK}]")


def reference_recall(prediction: str, references: Sequence[str]) -> float:
    """Return the share of a reference's terms that the prediction has, of the best reference.

    Terms are English stems and pairs of Chinese characters, as they are written: a reference in
    simplified characters is not found in a prediction in traditional ones. Each counts at most as
    often as the prediction has it. A Chinese character that stands alone in the reference (两) is
    found wherever the prediction has it (两天), which the pairs would not tell. A reference without
    a term scores 1.0 against a prediction without any, else 0.0. Raises UsageError without a
    reference. Source: Adlakha et al. 2024, https://doi.org/10.1162/tacl_a_00667.

    >>> reference_recall("It was signed in Paris in 1783.", ["Paris, 1783", "in 1784"])
    1.0
    """
    check_references(references, "reference recall")
    own, said = _terms(prediction), _plain(prediction)
    return max(_recall(own, said, _terms(text)) for text in references)


def signature() -> str:
    """Return all that the values depend on."""
    return f"reference_recall|tok:{FIRST_ANALYSER}|lone-cjk:anywhere|v:1"


@lru_cache(maxsize=_KEPT_TEXTS)
def _terms(text: str) -> Counter[str]:
    return Counter(analyser(FIRST_ANALYSER)(text))


@lru_cache(maxsize=_KEPT_TEXTS)
def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _recall(own: Counter[str], said: str, theirs: Counter[str]) -> float:
    if not theirs:
        return float(not own)
    held = sum(
        min(said.count(term) if _LONE.fullmatch(term) else own[term], n)
        for term, n in theirs.items()
    )
    return held / theirs.total()
