"""Read Inspect's logs: a .json file, or an .eval archive of a header and one file per sample.

Logs of Inspect 0.3.285 were read, whose format is 2. An archive is read where its members are
stored or deflated; that version compresses them by zstd, which Python reads from 3.14 on. The
latency of a sample is its working time: that of the model and the tools, without waiting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragkit.errors import UsageError
from ragkit_eval.imported.inspect_archive import read_archive
from ragkit_eval.imported.json_text import mapping, read_object, text
from ragkit_eval.imported.task import ImportedTask, Sample, finite, make_task, short_hash
from ragkit_eval.run.item import Item

# Inspect's own values of graded answers, and the texts that its metrics take for numbers.
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def is_inspect(values: Mapping[str, Any]) -> bool:
    """Return whether an object is such a log or its header."""
    return isinstance(values.get("eval"), dict) and "task" in values["eval"]


def read_inspect_json(path: Path) -> ImportedTask:
    """Read a .json log. Raises NotFoundError, UsageError."""
    values = read_object(path)
    if not is_inspect(values):
        raise UsageError(
            f"{path}: neither samples of lm-evaluation-harness nor a log of Inspect: give the"
            " samples_*.jsonl that --log_samples writes, or Inspect's .json or .eval"
        )
    samples = values.get("samples")
    listed = samples if isinstance(samples, list) else []
    return _make_task(path, values, [(f"{path}: sample {n}", s) for n, s in enumerate(listed, 1)])


def read_inspect_archive(path: Path) -> ImportedTask:
    """Read an .eval archive. Raises NotFoundError, UsageError naming the member."""
    members = read_archive(path)
    _, header = next(members)
    if not is_inspect(header):
        raise UsageError(f"{path}: header.json is not that of a log of Inspect: give an .eval log")
    return _make_task(path, header, members)


def _make_task(
    path: Path, header: Mapping[str, Any], logged: Iterable[tuple[str, Any]]
) -> ImportedTask:
    facts = header["eval"]
    name = text(facts.get("task"))
    left_out: dict[str, None] = {}
    unordered = [_read_sample(values, where, left_out) for where, values in logged]
    several = any(epoch != 1 for epoch, _ in unordered)
    samples = [
        _name_epoch(sample, epoch) if several else sample
        for epoch, sample in sorted(unordered, key=lambda pair: (pair[1].item.id, pair[0]))
    ]
    version = text(facts.get("task_version"))
    metrics = {
        metric: f"{metric}{_sign_scorer(facts, metric)}|task:{name}|v:{version}|by:inspect"
        for metric in _order_metrics(facts, samples)
    }
    status = text(header.get("status"))
    unfinished = [f"{name}: the evaluation did not end: its status is {status}"]
    return make_task(
        str(path),
        name,
        samples,
        metrics,
        version=version,
        method="generate",
        model=text(facts.get("model")),
        facts={
            "imported_from": f"inspect {text(mapping(facts.get('packages')).get('inspect_ai'))}"
        },
        created=text(facts.get("created")),
        notes=[] if status == "success" else unfinished,
        left_out=[metric for metric in left_out if metric not in metrics],
    )


def _read_sample(values: Any, where: str, left_out: dict[str, None]) -> tuple[int, Sample]:
    if not isinstance(values, dict) or "id" not in values or "input" not in values:
        raise UsageError(f"{where}: it has no 'id' and 'input': give a log as Inspect wrote it")
    epoch = values.get("epoch", 1)
    if not isinstance(epoch, int) or isinstance(epoch, bool):
        raise UsageError(f"{where}: 'epoch' must be a whole number: give a log as Inspect wrote it")
    target = values.get("target")
    targets = tuple(map(text, target)) if isinstance(target, list) else (text(target),)
    choices = values.get("choices")
    scores = mapping(values.get("scores"))
    output = mapping(values.get("output"))
    completion = _find_completion(output)
    answer = next((text(mapping(score).get("answer")) for score in scores.values()), "")
    prompt, question = _read_input(values["input"])
    return epoch, Sample(
        item=Item(
            text(values["id"]),
            prompt,
            targets,
            choices=tuple(map(text, choices)) if isinstance(choices, list) else (),
        ),
        scores=_read_scores(scores, left_out),
        question=question,
        prompt=prompt,
        prediction=answer or completion,
        output=completion,
        error=_find_error(values),
        latency_s=max(0.0, finite(values.get("working_time")) or 0.0),
        usage=_read_usage(mapping(output.get("usage"))),
    )


def _name_epoch(sample: Sample, epoch: int) -> Sample:
    """Give a sample that was asked several times an id for each time, and one cluster for all."""
    from dataclasses import replace

    item = replace(sample.item, id=f"{sample.item.id}#{epoch}", cluster=sample.item.id)
    return replace(sample, item=item)


def _read_scores(scores: Mapping[str, Any], left_out: dict[str, None]) -> dict[str, float]:
    values: dict[str, float] = {}
    for scorer, score in scores.items():
        value = mapping(score).get("value")
        parts = (
            {f"{scorer}/{part}": member for part, member in value.items()}
            if isinstance(value, dict)
            else {scorer: value}
        )
        for metric, member in parts.items():
            number = _read_grade(member)
            if number is not None:
                values[metric] = number
            elif member is not None:
                left_out[metric] = None
    return values


def _read_grade(value: object) -> float | None:
    if not isinstance(value, str):
        return finite(value)
    if value in _GRADES:
        return _GRADES[value]
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        return finite(float(value))
    except ValueError:
        return None


def _order_metrics(facts: Mapping[str, Any], samples: Sequence[Sample]) -> list[str]:
    """Return the metrics in the order in which the log lists their scorers."""
    names = [text(scorer.get("name")) for scorer in _list_scorers(facts)]
    metrics = list(dict.fromkeys(metric for sample in samples for metric in sample.scores))
    places = {name: place for place, name in enumerate(names)}
    return sorted(metrics, key=lambda name: places.get(name.partition("/")[0], len(places)))


def _sign_scorer(facts: Mapping[str, Any], metric: str) -> str:
    """Return a hash of the options of a metric's scorer, such as the model that grades."""
    for scorer in _list_scorers(facts):
        options = scorer.get("options")
        if scorer.get("name") == metric.partition("/")[0] and options:
            return f"|options:{short_hash(json.dumps(options, sort_keys=True))[:8]}"
    return ""


def _list_scorers(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    scorers = facts.get("scorers")
    return [mapping(scorer) for scorer in scorers] if isinstance(scorers, list) else []


def _find_error(values: Mapping[str, Any]) -> str:
    error = values.get("error")
    if error:
        return text(mapping(error).get("message")) or "the log names no cause"
    return "" if values.get("scores") else "the sample has no score in the log"


def _read_input(value: object) -> tuple[str, str]:
    """Return the whole input and the part of the user."""
    if not isinstance(value, list):
        return text(value), text(value)
    messages = [
        (text(mapping(message).get("role")), _read_content(mapping(message).get("content")))
        for message in value
    ]
    users = [content for role, content in messages if role == "user"]
    return "\n".join(f"{role}: {content}" for role, content in messages), "\n".join(users)


def _read_content(value: object) -> str:
    """Return a message's text; a part that is no text is named with a hash."""
    if not isinstance(value, list):
        return text(value)
    parts = []
    for part in map(mapping, value):
        if isinstance(part.get("text"), str):
            parts.append(part["text"])
        else:
            parts.append(
                f"[{text(part.get('type'))} {short_hash(json.dumps(part, sort_keys=True))}]"
            )
    return "\n".join(parts)


def _find_completion(output: Mapping[str, Any]) -> str:
    completion = output.get("completion")
    if isinstance(completion, str):
        return completion
    choices = output.get("choices")
    first = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    return _read_content(mapping(first.get("message")).get("content"))


def _read_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    names = {
        "prompt_tokens": "input_tokens",
        "completion_tokens": "output_tokens",
        "cached_tokens": "input_tokens_cache_read",
    }
    return {
        name: usage[logged]
        for name, logged in names.items()
        if isinstance(usage.get(logged), int) and not isinstance(usage[logged], bool)
    }
