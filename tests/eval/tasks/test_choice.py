"""Multiple choice by the first token and by log-likelihood."""

import math

import pytest

from ragkit_eval.run.item import Item, Likelihood, Method, Response, Scored
from ragkit_eval.tasks.scorers.choice import ChoiceScorer, letter_of

LABELS = ("A", "B", "C", "D")
ITEM = Item("1", "?", ("B",), LABELS)


def _top(*pairs: tuple[str, float]) -> Response:
    return Response(text=pairs[0][0], top=tuple((token, math.log(p)) for token, p in pairs))


def test_both_forms_of_a_letter_count_together() -> None:
    response = _top(("A", 0.4), ("B", 0.3), (" B", 0.25))
    assert ChoiceScorer("letter").score(ITEM, response) == Scored("B", {"acc": 1.0})


def test_only_the_two_forms_count() -> None:
    tokens = (("\nB", -0.1), ("BC", -0.2), ("b", -0.3), (" C", -9.0), ("(B", -0.1))
    assert letter_of(LABELS, tokens) == "C"


def test_a_letter_may_stand_far_down() -> None:
    response = _top(("The", 0.9), (" I", 0.05), (" B", 0.0001))
    assert ChoiceScorer("letter").score(ITEM, response) == Scored("B", {"acc": 1.0})


def test_ties_go_to_the_earlier_label() -> None:
    assert letter_of(LABELS, (("D", -1.0), ("C", -1.0))) == "C"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" B", Scored("B", {"acc": 1.0}, fallback=True)),
        ("The answer is C", Scored("C", {"acc": 0.0}, fallback=True)),
        ("Hm", Scored("", {"acc": 0.0}, fallback=True)),
        ("", Scored("", {"acc": 0.0}, fallback=True)),
    ],
)
def test_without_a_letter_among_the_candidates_the_text_is_read(
    text: str, expected: Scored
) -> None:
    response = Response(text=text, top=(("Hm", -0.1), ("So", -3.0)))
    assert ChoiceScorer("letter").score(ITEM, response) == expected
    assert ChoiceScorer("letter").score(ITEM, Response(text=text)) == expected


def test_a_candidate_without_probability() -> None:
    assert letter_of(LABELS, (("A", -math.inf), ("B", -5.0))) == "B"
    assert letter_of(LABELS, (("A", -math.inf),)) == ""


def _likelihoods(*values: float) -> Response:
    return Response(likelihoods=tuple(Likelihood(value, 3, False) for value in values))


def test_likelihood_as_it_is_per_character_and_per_byte() -> None:
    # lm_eval/api/task.py of 0.4.13 divides by len(choice) for acc_norm and by the length of its
    # UTF-8 for acc_bytes, of the choice without the space before it.
    item = Item("1", "?", ("B",), ("A", "B"), (" ab", " 中文"))
    scored = ChoiceScorer("loglikelihood").score(item, _likelihoods(-2.0, -1.9))
    assert scored == Scored("B", {"acc": 1.0, "acc_norm": 1.0, "acc_bytes": 1.0})
    scored = ChoiceScorer("loglikelihood").score(item, _likelihoods(-1.0, -2.5))
    assert scored == Scored("A", {"acc": 0.0, "acc_norm": 0.0, "acc_bytes": 1.0})
    longer = Item("1", "?", ("B",), ("A", "B"), (" no", " certainly"))
    scored = ChoiceScorer("loglikelihood").score(longer, _likelihoods(-2.0, -5.0))
    assert scored == Scored("A", {"acc": 0.0, "acc_norm": 1.0, "acc_bytes": 1.0})


def test_a_likelihood_for_each_choice_or_none_counts() -> None:
    item = Item("1", "?", ("A",), ("A", "B"), (" A", " B"))
    scored = ChoiceScorer("loglikelihood").score(item, _likelihoods(-1.0))
    assert scored == Scored("", {"acc": 0.0, "acc_norm": 0.0, "acc_bytes": 0.0}, fallback=True)


@pytest.mark.parametrize(
    ("method", "metrics"),
    [
        ("letter", ["acc"]),
        ("loglikelihood", ["acc", "acc_norm", "acc_bytes"]),
        ("generate", ["acc"]),
    ],
)
def test_signatures(method: Method, metrics: list[str]) -> None:
    scorer = ChoiceScorer(method)
    assert list(scorer.metrics) == metrics
    assert all(signature.endswith("|v:1") for signature in scorer.metrics.values())


def test_generated() -> None:
    scorer = ChoiceScorer("generate")
    assert scorer.score(ITEM, Response(text=" B.")) == Scored("B", {"acc": 1.0})
    assert scorer.score(ITEM, Response(text="It must be B")) == Scored("B", {"acc": 1.0}, True)
