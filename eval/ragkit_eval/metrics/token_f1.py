"""Token F1 of short answers, by SQuAD's rules or by CMRC 2018's."""

from collections import Counter
from collections.abc import Callable, Sequence

from ragkit_eval.metrics.answer_rules import (
    Rules,
    cmrc_tokens,
    rules_for,
    rules_name,
    squad_answer,
)
from ragkit_eval.metrics.references import check_references


def token_f1(prediction: str, references: Sequence[str], *, rules: Rules = "auto") -> float:
    """Return the F1 of the tokens shared with the best reference.

    F1 = 2PR/(P+R), P = shared / tokens of the prediction, R = shared / tokens of the reference.
    "squad" shares tokens as bags; "cmrc" shares the longest run of Chinese characters and words
    that is in both. "auto" takes "cmrc" where the prediction or a reference holds a Chinese
    character. Where either side has no token, the value is 1.0 if both have none, else 0.0, as in
    SQuAD 2.0. Raises UsageError without a reference. Sources: evaluate-v2.0.py, Rajpurkar et al.
    2018, https://aclanthology.org/P18-2124; cmrc2018_evaluate.py, Cui et al. 2019,
    https://aclanthology.org/D19-1600.

    >>> token_f1("in July 1969", ["July 1969"]), token_f1("于一九六九年", ["一九六九年"])
    (0.8, 0.9090909090909091)
    """
    check_references(references, "token F1")
    if rules_for(prediction, references, rules) == "squad":
        tokens = squad_answer(prediction).split()
        return max(_f1(tokens, squad_answer(text).split(), _shared_bag) for text in references)
    tokens = cmrc_tokens(prediction)
    return max(_f1(tokens, cmrc_tokens(text), _longest_run) for text in references)


def signature(*, rules: Rules = "auto") -> str:
    """Return the rules and the version that the values depend on."""
    return f"token_f1|rules:{rules_name(rules)}|v:2"


def _f1(
    prediction: list[str], reference: list[str], count_shared: Callable[[list[str], list[str]], int]
) -> float:
    if not prediction or not reference:
        return float(prediction == reference)
    common = count_shared(prediction, reference)
    return 2 * common / (len(prediction) + len(reference))


def _shared_bag(prediction: list[str], reference: list[str]) -> int:
    counts = Counter(prediction)
    return sum(min(counts[token], n) for token, n in Counter(reference).items())


def _longest_run(prediction: list[str], reference: list[str]) -> int:
    longest, above = 0, [0] * (len(reference) + 1)
    for token in prediction:
        row = [0]
        for j, expected in enumerate(reference):
            row.append(above[j] + 1 if token == expected else 0)
        longest, above = max(longest, *row), row
    return longest
