"""Answers judged as they come: an ask that has each answer judged, and a task that scores by it.

It knows nothing of who judges. Judging belongs to asking: it waits for a server, and what the
judge said is kept with the answer, so that a run can be scored again without asking anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ragkit.answer.markers import without_markers
from ragkit_eval.item import Ask, Item, Method, Response, Scored, Task
from ragkit_eval.judge.judge import Judge, Verdict

METRIC: Final = "judge"
JUDGEMENT: Final = "judgement"  # in a response's detail: {"scores": {"judge": 0.5}, "reason": ...}
FAILURE: Final = "judge_failure"  # in its place: {"why": ..., "raw": ...}


def judged_ask(ask: Ask, judge: Judge) -> Ask:
    """Have each answer judged as soon as it is there; its verdict goes into `detail`.

    `detail["judgement"]` holds "scores" and "reason". A reply of the judge's that cannot be read
    is `detail["judge_failure"]` instead. Neither is there for an item without anything to judge
    by: references for correctness, passages for faithfulness, where a refusal says nothing either.
    """

    async def judged(item: Item) -> Response:
        response = await ask(item)
        kept = await asyncio.to_thread(_judgement, judge, item, response)
        return replace(response, detail={**response.detail, **kept})

    return judged


def with_judge(task: Task, judge: Judge) -> Task:
    """Let a task's items have the metric "judge", from what `judged_ask` keeps in `detail`.

    An item that was not judged, or whose judge failed, has no such score. The judge's signature
    stands in the task's `metrics`.
    """
    return JudgedTask(task, judge.signature)


@dataclass(frozen=True)
class JudgedTask:
    """Fulfils `ragkit_eval.item.Task`: another task, and what a judge says besides."""

    task: Task
    judge_signature: str

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def version(self) -> str:
        return self.task.version

    @property
    def method(self) -> Method:
        return self.task.method

    @property
    def metric(self) -> str:
        return self.task.metric

    @property
    def sampling(self) -> Mapping[str, Any]:
        return self.task.sampling

    @property
    def data_hash(self) -> str:
        return self.task.data_hash

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return each metric's signature; the judge's ends with how far it was checked."""
        task = self.task
        default = {task.metric: f"{task.metric}|task:{task.name}|v:{task.version}"}
        own = getattr(task, "metrics", None) or default
        return {**own, METRIC: self.judge_signature}

    def items(self) -> Iterator[Item]:
        return self.task.items()

    def score(self, item: Item, response: Response) -> Scored:
        """Score as the task does, and add what the judge said."""
        scored = self.task.score(item, response)
        said = response.detail.get(JUDGEMENT, {"scores": {}})
        return replace(scored, scores={**scored.scores, **said["scores"]})


def _judgement(judge: Judge, item: Item, response: Response) -> Mapping[str, Any]:
    passages = _passages(response.detail)
    by = item.targets if judge.dimension == "correctness" else passages
    refused = bool(response.detail.get("refused"))
    if not by or (refused and judge.dimension == "faithfulness"):
        return {}
    text = without_markers(response.text).strip()
    if refused or not text:  # nobody needs to be asked
        return {JUDGEMENT: {"scores": {METRIC: 0.0}, "reason": "refused" if refused else "empty"}}
    said = judge.judge(item.question or item.prompt, text, passages, item.targets)
    if isinstance(said, Verdict):
        return {JUDGEMENT: {"scores": {METRIC: said.score}, "reason": said.reason}}
    return {FAILURE: {"why": said.why, "raw": said.raw}}


def _passages(detail: Mapping[str, Any]) -> Sequence[str]:
    """Return the texts of the passages that the answer was made from, or else were found."""
    for name in ("used", "hits"):
        texts = [passage["text"] for passage in detail.get(name, ()) if passage.get("text")]
        if texts:
            return texts
    return []
