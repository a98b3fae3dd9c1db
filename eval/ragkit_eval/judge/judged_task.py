"""Judge each answer of a run: an ask that has answers judged, and a task that scores by verdicts.

Judging is a part of asking: it waits for a server, and the verdict is stored with the answer, so
that a run can be scored again without a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Final

from ragkit.text.markers import without_markers
from ragkit_eval.judge.judge import Judge, Verdict
from ragkit_eval.judge.schema_reply import ParseFailure
from ragkit_eval.run.item import Ask, Item, Method, Response, Scored, Task

METRIC: Final = "judge"
JUDGEMENT: Final = "judgement"  # in a response's detail: {"scores": {"judge": 0.5}, "reason": ...}
TURN: Final = "judge_turn_"  # a metric for each turn of a conversation
FAILURE: Final = "judge_failure"  # in its place: {"why": ..., "raw": ...}


def judged_ask(ask: Ask, judge: Judge) -> Ask:
    """Return an ask that has each answer judged and puts the verdict into `detail`.

    `detail["judgement"]` holds "scores" and "reason"; for an unreadable reply of the judge there is
    `detail["judge_failure"]` instead. An item without references (correctness) or passages
    (faithfulness) gets neither, nor does a refusal where faithfulness is judged. Of a conversation
    each answer is judged: "judge" is their mean, "judge_turn_1" and so on are their own scores.
    """

    async def judged(item: Item) -> Response:
        response = await ask(item)
        verdict = await asyncio.to_thread(_judgement, judge, item, response)
        return replace(response, detail={**response.detail, **verdict})

    return judged


def with_judge(task: Task, judge: Judge) -> Task:
    """Return the task with the metric "judge", from the verdicts that `judged_ask` stores.

    An item without a verdict has no such score. The judge's signature is in the task's `metrics`.
    """
    return JudgedTask(task, judge.signature)


@dataclass(frozen=True)
class JudgedTask:
    """Fulfils `ragkit_eval.run.item.Task`: a wrapped task, and the score of a judge."""

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
        """Return each metric's signature; the judge's ends with the result of its check."""
        task = self.task
        default = {task.metric: f"{task.metric}|task:{task.name}|v:{task.version}"}
        metrics = getattr(task, "metrics", None) or default
        turns = {name: self.judge_signature for name in metrics if name.startswith(TURN)}
        return {**metrics, **turns, METRIC: self.judge_signature}

    def items(self) -> Iterator[Item]:
        return self.task.items()

    def score(self, item: Item, response: Response) -> Scored:
        """Score by the task, and add the score of the judge."""
        scored = self.task.score(item, response)
        judgement = response.detail.get(JUDGEMENT, {"scores": {}})
        return replace(scored, scores={**scored.scores, **judgement["scores"]})


def _judgement(judge: Judge, item: Item, response: Response) -> Mapping[str, Any]:
    passages = _passages(response.detail)
    if item.turns:
        return _judge_turns(judge, item, response.detail["answers"], passages)
    if not _has_material(judge, item.targets, passages):
        return {}
    refused = bool(response.detail.get("refused"))
    if refused and judge.dimension == "faithfulness":
        return {}
    text = without_markers(response.text).strip()
    if refused or not text:  # needs no judge
        return {JUDGEMENT: {"scores": {METRIC: 0.0}, "reason": "refused" if refused else "empty"}}
    verdict = judge.judge(item.question or item.prompt, text, passages, item.targets)
    if isinstance(verdict, Verdict):
        return {JUDGEMENT: {"scores": {METRIC: verdict.score}, "reason": verdict.reason}}
    return {FAILURE: {"why": verdict.why, "raw": verdict.raw}}


def _judge_turns(
    judge: Judge, item: Item, answers: Sequence[str], passages: Sequence[str]
) -> Mapping[str, Any]:
    """Judge each answer of a conversation by what was said before it.

    References are for the turns in order if there are as many, else for each turn.
    """
    asked = (item.prompt, *item.turns)
    scores: dict[str, float] = {}
    reasons: list[str] = []
    failure: Mapping[str, Any] = {}
    for turn, answer in enumerate(answers):
        paired = len(item.targets) == len(asked)
        references = (item.targets[turn],) if paired else item.targets
        if not _has_material(judge, references, passages):
            return {}
        verdict: Verdict | ParseFailure = Verdict(0.0, "empty")
        if answer.strip():
            question = _transcript(asked[: turn + 1], answers[:turn])
            verdict = judge.judge(question, answer.strip(), passages, references)
        if isinstance(verdict, ParseFailure):
            failure = {FAILURE: {"why": verdict.why, "raw": verdict.raw}}
        else:
            scores[f"{TURN}{turn + 1}"] = verdict.score
            reasons.append(f"{turn + 1}: {verdict.reason}")
    if not failure:
        scores[METRIC] = fmean(scores.values())
    return {JUDGEMENT: {"scores": scores, "reason": "\n".join(reasons)}, **failure}


def _transcript(asked: Sequence[str], answers: Sequence[str]) -> str:
    """Write the messages before an answer; a single one as it is."""
    if len(asked) == 1:
        return asked[0]
    lines = [
        f"User: {message}\n\nAssistant: {answer}\n\n"
        for message, answer in zip(asked, answers, strict=False)
    ]
    return "".join(lines) + f"User: {asked[-1]}"


def _has_material(judge: Judge, references: Sequence[str], passages: Sequence[str]) -> bool:
    """Tell whether there is what the judge's dimension needs."""
    if judge.dimension == "quality":
        return True
    return bool(references if judge.dimension == "correctness" else passages)


def _passages(detail: Mapping[str, Any]) -> Sequence[str]:
    """Return the texts of the passages that the answer used, else of all hits."""
    for name in ("used", "hits"):
        texts = [passage["text"] for passage in detail.get(name, ()) if passage.get("text")]
        if texts:
            return texts
    return []
