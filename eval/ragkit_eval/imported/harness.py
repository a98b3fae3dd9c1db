"""Read the samples that lm-evaluation-harness logs with --log_samples: samples_TASK_DATE.jsonl.

A line is one document under one filter; the results_DATE.json beside the file names the model, the
versions and the number of examples. Logs of version 0.4.13 were read; older ones, whose lines name
neither filter nor metrics, are read by their other fields. Questions are compared by document and
target, not by prompt, into which a chat template of the model goes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragkit.errors import UsageError
from ragkit_eval.imported.json_text import mapping, read_lines, read_object, text
from ragkit_eval.imported.task import ImportedTask, Sample, finite, make_task
from ragkit_eval.run.item import Item

_FILE_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
_NOT_METRICS = frozenset(
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash"
    " target_hash".split()
)
_NO_FILTER = "none"
_QUESTION_FIELDS = ("question", "query", "problem", "input")  # of a document, most usual first


@dataclass(frozen=True, slots=True)
class _Results:
    """What results_DATE.json says of one task; empty where there is no such file.

    Metrics of which lower is better become negative: of every metric of a run higher is better.
    """

    task: str
    model: str = ""
    version: str = ""
    shots: str = ""
    created: str = ""
    facts: Mapping[str, Any] | None = None
    lower_is_better: tuple[str, ...] = ()


@dataclass(slots=True)
class _Document:
    """The lines of one document: the sample of the first one, with the scores of every filter.

    `filters` has the place of each filter's line. `scores` are the sample's.
    """

    where: str
    sample: Sample
    method: str
    filters: dict[str, str]
    scores: dict[str, float]


def is_sample(values: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of such a log."""
    return "doc_id" in values and "resps" in values


def read_harness(path: Path) -> ImportedTask:
    """Read one log as a task. Raises NotFoundError, and UsageError naming file and line."""
    results = _read_results(path)
    documents: dict[str, _Document] = {}
    metrics: dict[str, str] = {}
    left_out: dict[str, None] = {}
    for where, line in read_lines(path):
        if not is_sample(line):
            raise UsageError(
                f"{where}: no 'doc_id' and 'resps', which a line of lm-evaluation-harness's samples"
                " has: give the samples_*.jsonl that --log_samples writes"
            )
        document = _add_line(documents, line, where)
        chosen = text(line.get("filter") or _NO_FILTER)
        for metric in _list_metrics(line):
            value = finite(line.get(metric))
            name = metric if chosen == _NO_FILTER else f"{metric},{chosen}"
            if value is not None and metric in results.lower_is_better:
                name, value = f"-{name}", -value
            if value is not None:
                document.scores[name] = value
                metrics.setdefault(name, _sign(metric, chosen, results))
            elif line.get(metric) is not None:
                left_out[name] = None
    ordered = [document for _, document in sorted(documents.items(), key=_order)]
    return make_task(
        str(path),
        results.task,
        [document.sample for document in ordered],
        metrics,
        version=results.version,
        method=ordered[0].method if ordered else "generate",
        model=results.model,
        facts=results.facts,
        created=results.created,
        notes=[
            f"{results.task}: {metric[1:]} is better when it is lower: {metric} is its negative,"
            " so that higher is better"
            for metric in metrics
            if metric[1:].partition(",")[0] in results.lower_is_better
        ],
        left_out=[name for name in left_out if name not in metrics],
    )


def _add_line(documents: dict[str, _Document], line: Mapping[str, Any], where: str) -> _Document:
    id = text(line["doc_id"])
    chosen = text(line.get("filter") or _NO_FILTER)
    document = documents.get(id)
    if document is None:
        document = documents[id] = _make_document(id, line, where)
    if chosen in document.filters:
        raise UsageError(
            f"{where}: the document {id} with the filter {chosen!r} stands already at"
            f" {document.filters[chosen]}: give the log of one evaluation"
        )
    item = document.sample.item
    if document.filters and _find_question(line) != (item.prompt, *item.targets):
        raise UsageError(
            f"{where}: the document {id} is another one at {document.where}: give the log of one"
            " evaluation"
        )
    document.filters[chosen] = where
    return document


def _list_metrics(line: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of a line's metrics; old versions do not list them."""
    names = line.get("metrics")
    if isinstance(names, list):
        return [name for name in names if isinstance(name, str)]
    return [name for name in line if name not in _NOT_METRICS]


def _sign(metric: str, chosen: str, results: _Results) -> str:
    return (
        f"{metric}|filter:{chosen}|task:{results.task}|v:{results.version or '?'}"
        f"|shots:{results.shots or '?'}|by:lm-evaluation-harness"
    )


def _order(entry: tuple[str, _Document]) -> tuple[int, str]:
    id, _ = entry
    return (int(id), "") if id.isascii() and id.isdigit() and len(id) < 19 else (1 << 62, id)


def _make_document(id: str, line: Mapping[str, Any], where: str) -> _Document:
    requests = _read_requests(line.get("arguments"))
    prompt = requests[0][0] if requests else ""
    choices = _find_choices(requests)
    responses = line.get("filtered_resps")
    target = _find_target(text(line.get("target")), choices)
    question, target_text = _find_question(line)
    doc = mapping(line.get("doc"))
    shown = next((doc[name] for name in _QUESTION_FIELDS if isinstance(doc.get(name), str)), "")
    scores: dict[str, float] = {}
    sample = Sample(
        item=Item(id, question, (target_text,), choices=tuple(map(str.strip, choices))),
        scores=scores,
        question=shown or prompt,
        targets=(target,),
        prompt=prompt,
        prediction=_find_prediction(responses, choices),
        output="" if choices else _first_text(line.get("resps")),
    )
    # A request for a likelihood has a text to continue with.
    method = "loglikelihood" if requests and requests[0][1] is not None else "generate"
    return _Document(where, sample, method, {}, scores)


def _find_question(line: Mapping[str, Any]) -> tuple[str, str]:
    """Return what makes a document's question, and its target, as texts that are compared."""
    doc = line.get("doc")
    question = line.get("arguments") if doc is None else doc
    return json.dumps(question, ensure_ascii=False, sort_keys=True), text(line.get("target"))


def _read_requests(arguments: object) -> list[tuple[str, str | None]]:
    """Return the prompt and the continuation of each request; None for none."""
    values = list(arguments.values()) if isinstance(arguments, dict) else arguments
    requests = []
    for request in values if isinstance(values, list) else []:
        parts = list(request.values()) if isinstance(request, dict) else request
        if isinstance(parts, list) and parts:
            second = parts[1] if len(parts) > 1 else None
            requests.append((text(parts[0]), second if isinstance(second, str) else None))
    return requests


def _find_choices(requests: Sequence[tuple[str, str | None]]) -> tuple[str, ...]:
    """Return a multiple choice's continuations, or () for other tasks."""
    prompt = requests[0][0] if requests else ""
    choices = [choice for given, choice in requests if given == prompt and choice is not None]
    return tuple(choices) if 1 < len(choices) == len(set(choices)) else ()


def _find_target(target: str, choices: Sequence[str]) -> str:
    """Return the right choice's text where the target is its place, else the target."""
    names = [choice.strip() for choice in choices]
    is_place = target.isascii() and target.isdigit() and len(target) < 6
    if target in names or not is_place or int(target) >= len(names):
        return target
    return names[int(target)]


def _find_prediction(responses: object, choices: Sequence[str]) -> str:
    """Return the choice with the highest likelihood, or the filtered answer."""
    if not choices:
        return _first_text(responses)
    values = responses if isinstance(responses, list) else []
    likelihoods = [_parse_number(_first_text(value)) for value in values[: len(choices)]]
    if len(likelihoods) < len(choices):
        return ""
    return choices[likelihoods.index(max(likelihoods))].strip()


def _parse_number(written: str) -> float:
    try:
        number = finite(float(written))
    except ValueError:
        number = None
    return float("-inf") if number is None else number


def _first_text(value: object) -> str:
    """Return the first text of a list of lists."""
    while isinstance(value, list):
        value = value[0] if value else None
    return text(value)


def _read_results(path: Path) -> _Results:
    match = _FILE_NAME.fullmatch(path.name)
    if match is None:
        return _Results(path.stem)
    beside = sorted(path.parent.glob(f"*_{match['date']}.json"))
    if not beside:
        return _Results(match["task"])
    values = read_object(beside[0])
    # The name in the file's name has _ for every sign that is no letter, digit or underline.
    names = [*mapping(values.get("configs")), *mapping(values.get("versions"))]
    name = next(
        (name for name in names if match["task"] in (name, re.sub(r"\W", "_", name))),
        match["task"],
    )
    config = mapping(values.get("config"))
    higher = mapping(mapping(values.get("higher_is_better")).get(name))
    return _Results(
        task=name,
        model=text(values.get("model_name") or config.get("model")),
        version=text(mapping(values.get("versions")).get(name)),
        shots=text(mapping(values.get("n-shot")).get(name)),
        created=_write_date(values.get("date")),
        facts=_list_facts(values, config),
        lower_is_better=tuple(metric for metric, better in higher.items() if better is False),
    )


def _list_facts(values: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what describes the model; its arguments stay out, since they may hold secrets."""
    facts = {
        "backend": text(config.get("model")),
        "chat_template": text(values.get("chat_template_sha")),
        "imported_from": f"lm-evaluation-harness {text(values.get('lm_eval_version'))}".strip(),
    }
    return {name: value for name, value in facts.items() if value}


def _write_date(value: object) -> str:
    seconds = finite(value)
    try:
        moment = datetime.fromtimestamp(seconds or 0.0, UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return moment.isoformat(timespec="seconds") if seconds else ""
