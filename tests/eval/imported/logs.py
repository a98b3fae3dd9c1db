"""Logs as lm-evaluation-harness 0.4.13 and Inspect 0.3.285 write them, with questions of our own.

The shape was taken from `lm_eval --model dummy --tasks ... --log_samples --output_path DIR` and
from `inspect_ai.eval(..., model="mockllm/model", log_format="json")`; its events are left out here.
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DATE = "2026-03-01T09-30-00.123456"
RIVERS = [
    ("Which river flows through Cologne?", ["Rhine", "Elbe", "Oder"], 0),
    ("Which river flows through Dresden?", ["Main", "Elbe", "Ruhr"], 1),
    ("Which river flows through Wuhan?", ["Amur", "Tarim", "Yangtze"], 2),
]


def choice_line(number: int, picked: int, *, prefix: str = "") -> dict[str, Any]:
    """Return a line of a multiple choice whose model prefers the choice `picked`."""
    question, choices, gold = RIVERS[number]
    answers = [[str(-1.5 if place == picked else -7.25), "False"] for place in range(3)]
    return {
        "doc_id": number,
        "doc": {"question": question, "choices": choices, "gold": gold},
        "target": str(gold),
        "arguments": {
            f"gen_args_{place}": {"arg_0": f"{prefix}Q: {question}\nA:", "arg_1": f" {choice}"}
            for place, choice in enumerate(choices)
        },
        "resps": [[answer] for answer in answers],
        "filtered_resps": answers,
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": "d",
        "prompt_hash": "p",
        "target_hash": "t",
        "acc": float(picked == gold),
        "acc_norm": float(picked == gold),
    }


def sum_line(number: int, chosen: str, value: float, **more: Any) -> dict[str, Any]:
    """Return a line of a generated answer under the filter `chosen`."""
    return {
        "doc_id": number,
        "doc": {"problem": f"{number} + {number}?"},
        "target": f"so #### {2 * number}",
        "arguments": {"gen_args_0": {"arg_0": f"P: {number} + {number}?", "arg_1": {"until": []}}},
        "resps": [["I think #### 4"]],
        "filtered_resps": ["4"],
        "filter": chosen,
        "metrics": ["exact_match", *more],
        "exact_match": value,
        **more,
    }


def write_samples(folder: Path, task: str, rows: Sequence[object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{DATE}.jsonl"
    written = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in written), encoding="utf-8")
    return path


def write_results(folder: Path, model: str, tasks: Mapping[str, str], **more: Any) -> Path:
    """Write the results that lie beside the samples; `tasks` maps names to versions."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {
        "results": {},
        "configs": {task: {} for task in tasks},
        "versions": {task: float(version) for task, version in tasks.items()},
        "n-shot": dict.fromkeys(tasks, 5),
        "higher_is_better": {task: {"acc": True, "exact_match": True} for task in tasks},
        "config": {"model": "hf", "model_args": {"token": "secret"}},
        "date": 1772357400.5,
        "lm_eval_version": "0.4.13",
        "model_name": model,
        "chat_template_sha": None,
        **more,
    }
    path = folder / f"results_{DATE}.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def sample(id: object, value: object, *, epoch: int = 1, **more: Any) -> dict[str, Any]:
    """Return a sample of Inspect, whose scorer "match" gives `value`."""
    return {
        "id": id,
        "epoch": epoch,
        "input": f"What is the name of lake {id}?",
        "target": f"Lake {id}",
        "messages": [],
        "output": {
            "model": "mockllm/model",
            "choices": [{"message": {"role": "assistant", "content": "It is"}}],
            "completion": "It is",
            "usage": {"input_tokens": 11, "output_tokens": 2, "total_tokens": 13},
        },
        "scores": {"match": {"value": value, "answer": "it", "explanation": "It is"}},
        "metadata": {},
        "working_time": 0.5,
        **more,
    }


def inspect_header(model: str = "mockllm/small", *, task: str = "lakes") -> dict[str, Any]:
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": "2026-03-01T09:30:00+00:00",
            "task": task,
            "task_version": 0,
            "model": model,
            "model_args": {"api_key": "secret"},
            "dataset": {"name": "lakes", "samples": 2},
            "config": {"epochs": 1},
            "packages": {"inspect_ai": "0.3.285"},
            "scorers": [{"name": "match", "options": {}}],
        },
    }


def write_inspect(path: Path, samples: Sequence[object], **header: Any) -> Path:
    """Write a log, as JSON or, for a name with .eval, as an archive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = inspect_header(**header)
    if path.suffix == ".json":
        path.write_text(json.dumps(values | {"samples": samples}, indent=2), encoding="utf-8")
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", "{}")
        for number, values_of_sample in enumerate(samples):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(values_of_sample))
        archive.writestr("header.json", json.dumps(values))
    return path
