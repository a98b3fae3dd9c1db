"""Ask a judge about labelled answers, each answer twice, several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from ragkit_eval.judge.agreement import Agreement, agreement
from ragkit_eval.judge.judge import Judge, Verdict
from ragkit_eval.judge.labelled import LabelledAnswer
from ragkit_eval.judge.schema_reply import ParseFailure

THREADS: Final = 8  # arbitrary


@dataclass(frozen=True, slots=True)
class Checked:
    """A judge's agreement with labels, and its first verdict on each answer."""

    agreement: Agreement
    verdicts: tuple[Verdict | ParseFailure, ...]


def check_judge(
    judge: Judge,
    labelled: Sequence[LabelledAnswer],
    *,
    progress: Callable[[int], None] = lambda done: None,
) -> Checked:
    """Have a judge score each answer twice, and compare the scores with the labels.

    Raises the errors of the judge: a judge that cannot be asked has not been checked.
    """

    def ask(item: LabelledAnswer) -> Verdict | ParseFailure:
        return judge.judge(item.question, item.answer, item.passages, item.references)

    verdicts: list[Verdict | ParseFailure] = []
    pool = ThreadPoolExecutor(THREADS)
    try:
        for verdict in pool.map(ask, [*labelled, *labelled]):
            verdicts.append(verdict)
            progress(len(verdicts))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    first, second = verdicts[: len(labelled)], verdicts[len(labelled) :]
    measured = agreement(
        [_score(verdict) for verdict in first],
        [_score(verdict) for verdict in second],
        [item.label for item in labelled],
        [item.cluster for item in labelled],
        [len(item.answer) for item in labelled],
    )
    return Checked(measured, tuple(first))


def _score(verdict: Verdict | ParseFailure) -> float | None:
    return verdict.score if isinstance(verdict, Verdict) else None
