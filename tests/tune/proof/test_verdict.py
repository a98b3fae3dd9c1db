"""Verdicts from differences: outcome, sentence, Holm over several models, guards."""

from dataclasses import replace
from math import inf

import pytest

from ragkit.errors import UsageError
from ragkit_eval.stats.holm_correction import holm as holm_of_eval
from ragkit_tune.proof.verdict import Difference, decide, holm, read_verdict

GAIN = Difference(
    "hybrid", "ndcg@10", 120, 40, 0.61, 0.65, 0.04, 0.012, 0.071, p=0.004, detectable=0.04
)
NOTHING = replace(GAIN, b=0.613, mean=0.003, low=-0.01, high=0.016, p=0.6)
LOSS = replace(GAIN, b=0.57, mean=-0.04, low=-0.071, high=-0.012)
GUARD = replace(
    GAIN, name="handbook-zh", items=60, b=0.605, mean=-0.005, low=-0.04, high=0.03, p=0.8
)
FALLEN = replace(GUARD, b=0.57, mean=-0.04, low=-0.09, high=0.01, p=0.1)


def test_the_outcome_and_its_sentence() -> None:
    better, nothing, worse = (decide(row, [GUARD]) for row in (GAIN, NOTHING, LOSS))
    assert (better.outcome, nothing.outcome, worse.outcome) == ("better", "no difference", "worse")
    assert better.sentence == "better by 0.040 (95% 0.012 to 0.071)"
    assert nothing.sentence == "no difference: +0.003 (95% -0.010 to 0.016), p = 0.6"
    assert worse.sentence == "worse by 0.040 (95% 0.012 to 0.071)"
    assert better.notes == worse.notes == ()
    assert nothing.notes == ("this set shows differences of 0.040 or more",)


def test_a_fallen_guard_makes_a_gain_worse_and_leaves_no_difference_as_it_is() -> None:
    verdict = decide(GAIN, [GUARD, FALLEN])
    assert verdict.outcome == "worse"
    assert verdict.sentence == (
        "worse by 0.040 (95% -0.010 to 0.090) on handbook-zh, where 0.01 is allowed, though better"
        " by 0.040 (95% 0.012 to 0.071)"
    )
    note = "guard handbook-zh fell by 0.040 (95% -0.010 to 0.090), more than 0.01"
    assert verdict.notes == (note,)
    assert decide(NOTHING, [FALLEN]).outcome == "no difference"
    assert note in decide(NOTHING, [FALLEN]).notes
    edge = replace(GUARD, mean=-0.01)
    assert decide(GAIN, [edge]).outcome == "better"


def test_each_model_tried_before_makes_the_test_stricter() -> None:
    gain = replace(GAIN, p=0.02)
    assert decide(gain, earlier=[0.5]).outcome == "better"  # 2 * .02
    verdict = decide(gain, earlier=[0.5, 0.6])
    assert (verdict.outcome, verdict.tried) == ("no difference", 3)
    assert verdict.p == pytest.approx(0.06)
    assert verdict.sentence.endswith(", p = 0.02, 0.06 over the 3 models tried on these questions")


@pytest.mark.parametrize(
    ("p", "others", "corrected"),
    # By hand: the k-th smallest of m times m - k + 1, and none below one before it.
    [
        (0.01, [], 0.01),
        (0.01, [0.02, 0.03, 0.005], 0.03),
        (0.02, [0.01, 0.03, 0.005], 0.04),
        (0.03, [0.02, 0.01, 0.005], 0.04),
        (0.04, [0.04, 0.04], 0.12),
        (0.9, [0.8], 1.0),
    ],
)
def test_holm(p: float, others: list[float], corrected: float) -> None:
    assert holm(p, others) == pytest.approx(corrected)


def test_holm_is_that_of_ragkit_eval() -> None:
    values = [0.04, 0.001, 0.3, 0.04, 0.011, 0.9]
    for place, p in enumerate(values):
        others = values[:place] + values[place + 1 :]
        assert holm(p, others) == pytest.approx(holm_of_eval(values)[place])


def test_an_interval_that_holds_zero_shows_nothing_whatever_the_p_value() -> None:
    assert decide(replace(GAIN, low=-0.001, p=0.04)).outcome == "no difference"


def test_a_test_that_shows_nothing_counts_though_the_interval_leaves_zero_out() -> None:
    verdict = decide(replace(GAIN, p=0.06))
    assert verdict.outcome == "no difference"
    note = "the interval leaves 0 out, but too few questions changed for the test"
    assert verdict.notes[1:] == (note,)
    assert note not in decide(replace(GAIN, p=0.04), earlier=[0.5]).notes


def test_too_few_clusters_are_named() -> None:
    verdict = decide(replace(NOTHING, clusters=4, detectable=inf))
    assert verdict.notes == (
        "4 independent groups of questions are too few to show any difference",
    )


def test_a_verdict_comes_back_from_json_as_it_was() -> None:
    verdict = decide(
        replace(GAIN, detectable=inf),
        [GUARD],
        reported=[NOTHING],
        notes=["n"],
        facts={"model": "x"},
    )
    values = verdict.as_json()
    assert values["main"]["detectable"] is None
    assert read_verdict(values, "run.json") == verdict
    with pytest.raises(UsageError, match=r"^run.json: the verdict cannot be read \('main'\)"):
        read_verdict({key: value for key, value in values.items() if key != "main"}, "run.json")


def test_a_set_on_which_nothing_varies_shows_no_difference() -> None:
    same = replace(GAIN, a=1.0, b=1.0, mean=0.0, low=0.0, high=0.0, p=1.0, detectable=1.0)
    assert decide(same).notes == (
        "all questions are answered equally by both models: this set cannot show a difference",
    )
    assert decide(replace(same, low=-0.1, high=0.1)).notes == (
        "this set shows differences of 1.000 or more",
    )
