"""Reference recall: the share of a reference's words that the prediction contains.

The default score of an answer: of the metrics without a model it agrees best with people, who
accept that an answer says more than the reference.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from ragkit.text.analyse import CJK, FIRST_ANALYSER
from ragkit.text.analysers import analyser
from ragkit_eval.metrics.references import check_references
from ragkit_eval.metrics.words import without_superscripts

_CACHED_TEXTS = 1024
_CJK_CHARACTER = re.compile(f"[{CJK}]")


def reference_recall(prediction: str, references: Sequence[str]) -> float:
    """Return the share of the best reference's terms that the prediction has.

    Terms are English stems and pairs of Chinese characters in the script of the text: a reference
    in simplified characters does not match a prediction in traditional ones. A term counts at most
    as often as the prediction has it; superscript digits are left out. A single Chinese character
    in the reference (两) matches every place where the prediction has it (两天), which pairs would
    miss. A reference without a term scores 1.0 against a prediction without one, else 0.0. Raises
    UsageError without a reference. Source: Adlakha et al. 2024,
    https://doi.org/10.1162/tacl_a_00667.

    >>> reference_recall("It was signed in Paris in 1783.", ["Paris, 1783", "in 1784"])
    1.0
    """
    check_references(references, "reference recall")
    terms, plain = _terms(prediction), _plain(prediction)
    return max(_recall(terms, plain, _terms(text)) for text in references)


def signature() -> str:
    """Return the analyser and the version that the values depend on."""
    return f"reference_recall|tok:{FIRST_ANALYSER}|lone-cjk:anywhere|v:2"


@lru_cache(maxsize=_CACHED_TEXTS)
def _terms(text: str) -> Counter[str]:
    return Counter(analyser(FIRST_ANALYSER)(without_superscripts(text)))


@lru_cache(maxsize=_CACHED_TEXTS)
def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _recall(terms: Counter[str], plain: str, expected: Counter[str]) -> float:
    if not expected:
        return float(not terms)
    held = sum(
        min(plain.count(term) if _CJK_CHARACTER.fullmatch(term) else terms[term], n)
        for term, n in expected.items()
    )
    return held / expected.total()
