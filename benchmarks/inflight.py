"""Requests in flight: how full `ragkit eval run` keeps a server, beside lm-evaluation-harness."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.inflight_stub import LATENCY_S, SLOTS, Seen, running, take

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = 2560  # forty rounds of all slots
ROUNDS = 3
PROMPT_CHARS = 3000  # about a question of MMLU with its five examples

TASK = """
method = "generate"
scorer = "choice"
metric = "acc"
[data]
files = ["questions.jsonl"]
[fields]
id = "id"
question = "question"
options = "options"
target = "answer"
[prompt]
question = "{{ question }}"
[sampling]
max_tokens = 1
"""


def run() -> str:
    """Have both ask the same questions of the same stub, in turns."""
    subprocess.run(["make", "--silent", "-C", str(ROOT), ".venvs/lmeval/.made"], check=True)
    told: dict[str, list[tuple[Seen, float]]] = {"ragkit eval run": [], "lm_eval 0.4.13": []}
    with tempfile.TemporaryDirectory(prefix="ragkit-bench-") as name, running() as url:
        folder = Path(name)
        _write_tasks(folder)
        for number in range(ROUNDS):
            out = folder / f"{number}.jsonl"
            told["ragkit eval run"].append(_timed(_ours(folder, url, out), url))
            told["lm_eval 0.4.13"].append(_timed(_theirs(folder, url), url))
    rows = [_row(name, rounds) for name, rounds in told.items()]
    return "\n".join(
        [
            "## Requests in flight\n",
            f"{QUESTIONS:,} prompts of {PROMPT_CHARS:,} characters, one token each, to a stub"
            f" server in a process of its own whose every answer takes {1000 * LATENCY_S:.0f} ms;"
            f" {SLOTS} at once, so that no program can do more than {SLOTS / LATENCY_S:.0f} a"
            f" second. Seen by the server, from the first request to the last answer; medians of"
            f" {ROUNDS} rounds in turns. The peer is lm-evaluation-harness' `local-completions`"
            f" with `num_concurrent={SLOTS}`. Beside that the time of the whole program: reading,"
            " hashing and scoring included, and what it keeps of each item written.\n",
            "| program | 95% of the slots in use | requests/s | most at once | whole program |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _row(name: str, rounds: list[tuple[Seen, float]]) -> str:
    full = median(seen.full_s / seen.seconds for seen, _ in rounds)
    rate = median(seen.requests / seen.seconds for seen, _ in rounds)
    most = max(seen.most for seen, _ in rounds)
    whole = median(seconds for _, seconds in rounds)
    return f"| {name} | {100 * full:.1f}% of the time | {rate:.1f} | {most} | {whole:.1f} s |"


def _timed(command: list[str], url: str) -> tuple[Seen, float]:
    take(url)
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OPENAI_API_KEY": "none"}
    began = perf_counter()
    done = subprocess.run(command, env=os.environ | offline, capture_output=True, text=True)
    took = perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{command[:4]} failed:\n{done.stderr[-2000:]}")
    seen = take(url)
    assert seen.requests == QUESTIONS, seen
    return seen, took


def _ours(folder: Path, url: str, out: Path) -> list[str]:
    command = [sys.executable, "-m", "ragkit", "eval", "run", str(folder / "same.toml")]
    return [*command, "--url", url, "--concurrency", str(SLOTS), "--out", str(out)]


def _theirs(folder: Path, url: str) -> list[str]:
    asked = {"model": "stub", "base_url": f"{url}/completions", "tokenizer_backend": "None"}
    asked |= {"tokenized_requests": "False", "num_concurrent": str(SLOTS)}
    command = [str(ROOT / ".venvs/lmeval/bin/python"), "-m", "lm_eval", "run"]
    command += ["--model", "local-completions", "--include_path", str(folder), "--tasks", "same"]
    return [*command, "--model_args", ",".join(f"{name}={value}" for name, value in asked.items())]


def _write_tasks(folder: Path) -> None:
    """Write the questions, and both programs' declarations of them."""
    text = "All of this is shown before each question. " * (PROMPT_CHARS // 43)
    rows = [
        {"id": f"{n}", "question": f"{text}{n}", "options": list("wxyz"), "answer": "A"}
        for n in range(QUESTIONS)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "questions.jsonl").write_text(lines)
    (folder / "same.toml").write_text(TASK)
    theirs = {
        "task": "same",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(folder / "questions.jsonl")}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answer}}",
        "generation_kwargs": {"max_gen_toks": 1, "until": ["\n\n"]},
        "metric_list": [{"metric": "exact_match"}],
    }
    (folder / "same.yaml").write_text(json.dumps(theirs))  # JSON is YAML
