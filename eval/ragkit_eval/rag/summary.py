"""Summarise a run on a knowledge base: scores, refusals, latency, the worst questions.

It reads records only, so that runs of other programs and earlier versions can be summarised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from ragkit_eval.answers import latency, rates, refusal_curve, refusal_scores, tokens_and_cost
from ragkit_eval.judge.judged_task import FAILURE, JUDGEMENT
from ragkit_eval.run import Summary, summarise
from ragkit_eval.run.record import Record, Run
from ragkit_eval.run.summary import summary_json

WORST: Final = 5


@dataclass(frozen=True, slots=True)
class RagSummary:
    """The summary of a run of one task: its scores, and values that only a knowledge base has.

    `refusals` is empty without labels of what is answerable, and does not count errors; the area
    under its curve of risk by coverage uses the confidence before answering. `rates` are shares of
    the items, "judge_failure" of the judge's replies. `latency` is in seconds. `tokens` sums a
    language model's usage. `worst` has errors first.
    """

    scores: Summary
    refusals: Mapping[str, Any]
    rates: Mapping[str, Any]
    latency: Mapping[str, Any]
    tokens: Mapping[str, Any]
    worst: tuple[Record, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON values that `--json` prints."""
        return {
            **summary_json(self.scores),
            "refusals": _round_values(self.refusals),
            "rates": _round_values(self.rates),
            "latency": _round_values(self.latency),
            "tokens": dict(self.tokens),
            "worst": [
                {
                    "id": record.id,
                    "score": record.value(self.scores.metric),
                    "question": record.question,
                    "answer": record.output,
                    "error": record.error,
                }
                for record in self.worst
            ],
        }


def sum_up(run: Run) -> RagSummary:
    """Summarise a run of one task; errors count 0 in every mean."""
    (summary,) = summarise(run).values()
    records = run.of(summary.task)
    answered = [record for record in records if record.status != "error"]
    order = sorted(
        records, key=lambda record: (record.status != "error", record.value(summary.metric) or 0)
    )
    return RagSummary(
        scores=summary,
        refusals=_summarise_refusals(answered),
        rates={**asdict(rates(records)), **_count_judge_failures(answered)},
        latency=asdict(latency(answered)) if answered else {},
        tokens=asdict(tokens_and_cost(answered)),
        worst=tuple(order[:WORST]),
    )


def _summarise_refusals(records: Sequence[Record]) -> Mapping[str, Any]:
    details = [
        record.detail
        for record in records
        if "refused" in record.detail and record.detail["labels"]["answerable"] is not None
    ]
    if not details:
        return {}
    answerable = [bool(detail["labels"]["answerable"]) for detail in details]
    scores = asdict(refusal_scores([bool(detail["refused"]) for detail in details], answerable))
    if len(set(answerable)) < 2:
        return scores  # there is nothing to print_notes apart
    curve = refusal_curve([detail["confidence"] for detail in details], answerable)
    return {**scores, "risk_area": curve.area, "least_risk_area": curve.least_area}


def _count_judge_failures(records: Sequence[Record]) -> Mapping[str, float]:
    """Return the share of the judge's replies that could not be read; empty without a judge."""
    failed = sum(FAILURE in record.detail for record in records)
    judged = failed + sum(JUDGEMENT in record.detail for record in records)
    return {"judge_failure": failed / judged} if judged else {}


def _round_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in values.items()
    }
