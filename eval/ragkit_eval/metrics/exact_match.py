"""Exact match: whether the prediction equals a reference by the rules of a data set."""

from collections.abc import Sequence

from ragkit_eval.metrics.answer_rules import (
    Rules,
    cmrc_answer,
    rules_for,
    rules_name,
    squad_answer,
)
from ragkit_eval.metrics.references import check_references


def exact_match(prediction: str, references: Sequence[str], *, rules: Rules = "auto") -> float:
    """Return 1.0 if prediction and reference are equal after the rules normalised both, else 0.0.

    "squad" ignores case, punctuation and English articles, "cmrc" case and a list of marks; "auto"
    takes "cmrc" where the prediction or a reference holds a Chinese character. An answer that is
    empty after the rules equals only another empty one. Raises UsageError without a reference.
    Sources: Rajpurkar et al. 2016, https://aclanthology.org/D16-1264; Cui et al. 2019,
    https://aclanthology.org/D19-1600.

    >>> exact_match("the Eiffel Tower.", ["Eiffel tower"]), exact_match("《红楼梦》", ["红楼梦"])
    (1.0, 1.0)
    """
    check_references(references, "exact match")
    normalise = squad_answer if rules_for(prediction, references, rules) == "squad" else cmrc_answer
    prediction_answer = normalise(prediction)
    return float(any(prediction_answer == normalise(text) for text in references))


def signature(*, rules: Rules = "auto") -> str:
    """Return the rules and the version that the values depend on."""
    return f"exact_match|rules:{rules_name(rules)}|v:2"
