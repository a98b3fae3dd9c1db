"""Ask a judge about labelled answers, each twice, several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from ragkit_eval.judge.agreement import Agreement, agreement
from ragkit_eval.judge.bound import ParseFailure
from ragkit_eval.judge.judge import Judge, Verdict
from ragkit_eval.judge.labelled import LabelledAnswer

AT_ONCE: Final = 8  # arbitrary


@dataclass(frozen=True, slots=True)
class Checked:
    """How far a judge agrees with labels, and what it said about each answer first."""

    agreement: Agreement
    said: tuple[Verdict | ParseFailure, ...]


def check_judge(
    judge: Judge,
    labelled: Sequence[LabelledAnswer],
    *,
    progress: Callable[[int], None] = lambda done: None,
) -> Checked:
    """Have a judge say twice what it thinks of each answer, and compare that with the labels.

    Raises what the judge raises: a judge that cannot be asked has not been checked.
    """

    def ask(one: LabelledAnswer) -> Verdict | ParseFailure:
        return judge.judge(one.question, one.answer, one.passages, one.references)

    said: list[Verdict | ParseFailure] = []
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        for verdict in pool.map(ask, [*labelled, *labelled]):
            said.append(verdict)
            progress(len(said))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    first, second = said[: len(labelled)], said[len(labelled) :]
    found = agreement(
        [_score(one) for one in first],
        [_score(one) for one in second],
        [one.label for one in labelled],
        [one.cluster for one in labelled],
        [len(one.answer) for one in labelled],
    )
    return Checked(found, tuple(first))


def _score(said: Verdict | ParseFailure) -> float | None:
    return said.score if isinstance(said, Verdict) else None
