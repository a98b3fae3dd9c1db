"""Token F1 of short answers, by SQuAD's rules or by CMRC 2018's."""

from collections import Counter
from collections.abc import Sequence

from ragkit_eval.metrics.answer_rules import Rules, cmrc_tokens, rules_for, squad_answer
from ragkit_eval.metrics.references import check_references


def token_f1(prediction: str, references: Sequence[str], *, rules: Rules = "auto") -> float:
    """Return the F1 of the tokens shared with the reference that gives most.

    F1 = 2PR/(P+R), P = shared / tokens of the prediction, R = shared / tokens of the reference.
    "squad" shares tokens as bags; "cmrc" shares the longest run that stands in both, of Chinese
    characters and words. "auto" takes "cmrc" where the references are Chinese. Where either side
    has no token, the value is 1.0 if both have none, else 0.0, as SQuAD 2.0 has it. Raises
    UsageError without a reference. Sources: evaluate-v2.0.py, Rajpurkar et al. 2018,
    https://aclanthology.org/P18-2124; cmrc2018_evaluate.py, Cui et al. 2019,
    https://aclanthology.org/D19-1600.

    >>> token_f1("in July 1969", ["July 1969"]), token_f1("于一九六九年", ["一九六九年"])
    (0.8, 0.9090909090909091)
    """
    check_references(references, "token F1")
    if rules_for(references, rules) == "squad":
        own = squad_answer(prediction).split()
        return max(_f1(own, squad_answer(text).split(), _shared_bag) for text in references)
    own = cmrc_tokens(prediction)
    return max(_f1(own, cmrc_tokens(text), _longest_run) for text in references)


def signature(*, rules: Rules = "auto") -> str:
    """Return all that the values depend on."""
    named = "squad-or-cmrc-by-script" if rules == "auto" else rules
    return f"token_f1|rules:{named}|v:1"


def _f1(own: list[str], theirs: list[str], shared: object) -> float:
    assert callable(shared)
    if not own or not theirs:
        return float(own == theirs)
    common: int = shared(own, theirs)
    return 2 * common / (len(own) + len(theirs))


def _shared_bag(own: list[str], theirs: list[str]) -> int:
    counts = Counter(own)
    return sum(min(counts[token], n) for token, n in Counter(theirs).items())


def _longest_run(own: list[str], theirs: list[str]) -> int:
    longest, above = 0, [0] * (len(theirs) + 1)
    for token in own:
        row = [0]
        for j, other in enumerate(theirs):
            row.append(above[j] + 1 if token == other else 0)
        longest, above = max(longest, *row), row
    return longest
