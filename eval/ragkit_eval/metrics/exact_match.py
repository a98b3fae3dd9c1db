"""Exact match: whether the prediction is one of the references, after their set's rules."""

from collections.abc import Sequence

from ragkit_eval.metrics.answer_rules import Rules, cmrc_answer, rules_for, squad_answer
from ragkit_eval.metrics.references import check_references


def exact_match(prediction: str, references: Sequence[str], *, rules: Rules = "auto") -> float:
    """Return 1.0 when the prediction equals a reference as the rules read both, else 0.0.

    "squad" ignores case, punctuation and English articles, "cmrc" case and a list of marks; "auto"
    takes "cmrc" where the references are Chinese. An answer of which nothing is left equals only
    another such one. Raises UsageError without a reference. Sources: Rajpurkar et al. 2016,
    https://aclanthology.org/D16-1264; Cui et al. 2019, https://aclanthology.org/D19-1600.

    >>> exact_match("the Eiffel Tower.", ["Eiffel tower"]), exact_match("《红楼梦》", ["红楼梦"])
    (1.0, 1.0)
    """
    check_references(references, "exact match")
    read = squad_answer if rules_for(references, rules) == "squad" else cmrc_answer
    own = read(prediction)
    return float(any(own == read(text) for text in references))


def signature(*, rules: Rules = "auto") -> str:
    """Return all that the values depend on."""
    return f"exact_match|rules:{_named(rules)}|v:1"


def _named(rules: Rules) -> str:
    return "squad-or-cmrc-by-script" if rules == "auto" else rules
