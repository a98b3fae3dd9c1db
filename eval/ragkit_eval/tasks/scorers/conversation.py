"""Answers in a conversation: compared with those of several people, or scored by a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from ragkit_eval.metrics.exact_match import exact_match
from ragkit_eval.metrics.token_f1 import token_f1
from ragkit_eval.run.item import Item, Response, Scored
from ragkit_eval.tasks.extract import first_line

JUDGE: Final = "judge"  # the metric that `judge.judged_task` adds
_AGREED: Final = 0.4  # QuAC's scorer.py: --min_f1
_SIGNATURES = {
    "f1": "f1|tokens:squad-or-cmrc|people:one-left-out|v:1",
    "exact_match": "exact_match|rules:squad-or-cmrc|people:one-left-out|v:1",
    "f1_agreed": f"f1_agreed|tokens:squad-or-cmrc|people:one-left-out|agreed:{_AGREED}|v:1",
    "heq": f"heq|tokens:squad-or-cmrc|people:one-left-out|agreed:{_AGREED}|v:1",
}


@dataclass(frozen=True)
class AnswerScorer:
    """Scores the first line of a text against the answers of several people, as CoQA and QuAC do.

    `f1` and `exact_match` are the mean, over the people, of the best value against all others, so
    that people can be scored in the same way: coqa-evaluate.py, Reddy et al. 2019,
    https://aclanthology.org/Q19-1016. `f1_agreed` is the same for the items on whose answers people
    agree with an F1 of 0.4 or more, and `heq` says of these whether the model is as good as people:
    scorer.py of QuAC, Choi et al. 2018, https://aclanthology.org/D18-1241. With one answer, people
    agree by 1.
    """

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each metric."""
        return _SIGNATURES

    def score(self, item: Item, response: Response) -> Scored:
        """Score a response."""
        text, answers = first_line(response.text), item.targets
        f1 = _left_out(token_f1, text, answers)
        scores = {"f1": f1, "exact_match": _left_out(exact_match, text, answers)}
        agreement = _agreement(answers)
        if agreement >= _AGREED:
            scores |= {"f1_agreed": f1, "heq": float(f1 >= agreement)}
        return Scored(text, scores)


@dataclass(frozen=True)
class JudgedScorer:
    """Leaves the score to a judge, which `ragkit eval run --judge` names; has none without it."""

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the metrics with a signature that the judge's replaces."""
        return dict.fromkeys((JUDGE, "judge_turn_1", "judge_turn_2"), "judge|none")

    def score(self, item: Item, response: Response) -> Scored:
        """Return the answer without a score."""
        return Scored(response.text.strip(), {})


def _left_out(
    metric: Callable[[str, Sequence[str]], float], text: str, answers: Sequence[str]
) -> float:
    """Average a metric over the lists of answers that lack one; one answer is the list itself."""
    if len(answers) == 1:
        return metric(text, answers)
    return fmean(
        metric(text, [*answers[:place], *answers[place + 1 :]]) for place in range(len(answers))
    )


def _agreement(answers: Sequence[str]) -> float:
    """Score each person's answer against those of the others, and return the mean."""
    if len(answers) == 1:
        return 1.0
    return fmean(
        token_f1(answer, [*answers[:place], *answers[place + 1 :]])
        for place, answer in enumerate(answers)
    )
