"""What a run on a knowledge base comes to besides its scores: refusals, latency, the worst.

It reads records alone, so that a run made elsewhere or long ago is summed up alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from ragkit_eval.answers import latency, rates, refusal_curve, refusal_scores, tokens_and_cost
from ragkit_eval.judge.judged import FAILURE, JUDGEMENT
from ragkit_eval.record import Record, Run
from ragkit_eval.run import Summary, summarise
from ragkit_eval.run.summary import summary_json

WORST: Final = 5


@dataclass(frozen=True, slots=True)
class RagSummary:
    """The sums of a run of one task: its scores, and what only a knowledge base has.

    `refusals` is empty where nobody said what is answerable, and knows nothing of errors; the area
    under its curve of risk by coverage is that of the confidence before answering. `rates` are
    shares of the items, "judge_failure" of the judge's replies. `latency` is in seconds. `tokens`
    sums what a language model counted. `worst` has errors first.
    """

    scores: Summary
    refusals: Mapping[str, Any]
    rates: Mapping[str, Any]
    latency: Mapping[str, Any]
    tokens: Mapping[str, Any]
    worst: tuple[Record, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the shape that `--json` prints."""
        return {
            **summary_json(self.scores),
            "refusals": _rounded(self.refusals),
            "rates": _rounded(self.rates),
            "latency": _rounded(self.latency),
            "tokens": dict(self.tokens),
            "worst": [
                {
                    "id": one.id,
                    "score": one.value(self.scores.metric),
                    "question": one.question,
                    "answer": one.output,
                    "error": one.error,
                }
                for one in self.worst
            ],
        }


def sum_up(run: Run) -> RagSummary:
    """Sum a run of one task up; errors count 0 in every mean."""
    (summary,) = summarise(run).values()
    records = run.of(summary.task)
    answered = [one for one in records if one.status != "error"]
    order = sorted(records, key=lambda one: (one.status != "error", one.value(summary.metric) or 0))
    return RagSummary(
        scores=summary,
        refusals=_refusals(answered),
        rates={**asdict(rates(records)), **_judge_failures(answered)},
        latency=asdict(latency(answered)) if answered else {},
        tokens=asdict(tokens_and_cost(answered)),
        worst=tuple(order[:WORST]),
    )


def _refusals(records: Sequence[Record]) -> Mapping[str, Any]:
    told = [
        one.detail
        for one in records
        if "refused" in one.detail and one.detail["labels"]["answerable"] is not None
    ]
    if not told:
        return {}
    answerable = [bool(detail["labels"]["answerable"]) for detail in told]
    scores = asdict(refusal_scores([bool(detail["refused"]) for detail in told], answerable))
    if len(set(answerable)) < 2:
        return scores  # there is nothing to tell apart
    curve = refusal_curve([detail["confidence"] for detail in told], answerable)
    return {**scores, "risk_area": curve.area, "least_risk_area": curve.least_area}


def _judge_failures(records: Sequence[Record]) -> Mapping[str, float]:
    """Return the share of the judge's replies that could not be read; nothing without a judge."""
    failed = sum(FAILURE in one.detail for one in records)
    judged = failed + sum(JUDGEMENT in one.detail for one in records)
    return {"judge_failure": failed / judged} if judged else {}


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in values.items()
    }
