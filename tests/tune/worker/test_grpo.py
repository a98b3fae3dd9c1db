"""Training on a model's own answers, scored by a program of their own."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tune.worker.tiny_language_models import (
    chat_rows,
    poisoned,
    run_here,
    stopped,
    worker_module,
    write_job,
    write_language_model,
)

# In the place of ragkit's check, which answers of random bytes never pass: the share of capitals.
CAPITALS = """
import json, sys
for line in sys.stdin:
    scores = []
    for text in json.loads(line)["answers"]:
        share = sum(c.isupper() for c in text) / max(1, len(text))
        scores.append({"reward": share, "supported": share, "covered": 0.0, "refused": False})
    print(json.dumps({"scores": scores}), flush=True)
"""
SETTINGS: dict[str, Any] = {"method": "grpo", "max_tokens": 90}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_language_model(tmp_path_factory.mktemp("base"))


def rows(count: int) -> list[dict[str, Any]]:
    source = {"document": "/d/a.md", "start": 0, "end": 10, "title": "A", "text": "It is red."}
    return [{**row, "sources": [source]} for row in chat_rows(count)]


def logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "steps.jsonl").read_text("utf-8").splitlines()]


def test_answers_with_a_higher_reward_are_reinforced(base: Path, tmp_path: Path) -> None:
    job = write_job(
        tmp_path, base, rows(8), steps=10, evaluate_every=10, batch=16, learning_rate=3e-2,
        parameters="full",
        extra={"reward": [sys.executable, "-c", CAPITALS]}, **SETTINGS,
    )  # fmt: skip
    assert run_here("grpo", job)[0] == 0
    lines = logged(tmp_path)
    rewards = [line["reward"] for line in lines if "reward" in line and "step" in line]
    assert sum(rewards[-3:]) > 2 * sum(rewards[:3])
    step = next(line for line in lines if "loss" in line)
    assert len(step["rows"]) == 2  # 16 answers to two prompts
    assert step["tokens"] > 100
    assert (tmp_path / "model/model.safetensors").exists()


def test_ragkit_itself_scores_and_a_run_without_differences_is_stopped(
    base: Path, tmp_path: Path
) -> None:
    job = write_job(tmp_path, base, rows(8), steps=1, **SETTINGS)
    line = stopped("grpo", job)
    assert "in 1 steps all answers to a question got the same reward, at last 0.00" in line
    assert not (tmp_path / "model").exists()
    assert [line["supported"] for line in logged(tmp_path) if "supported" in line] == [0.0]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"batch": 1}, "a batch of 1 answers cannot be divided among prompts: set -o batch=8"),
        (
            {"max_tokens": 78},
            "row r3 has 63 tokens and leaves 15 for an answer: set -o",
        ),
    ],
)
def test_batches_and_lengths_without_room_are_refused(
    base: Path, tmp_path: Path, settings: dict[str, Any], reason: str
) -> None:
    job = write_job(tmp_path, base, rows(8), **{**SETTINGS, **settings})
    assert reason in stopped("grpo", job)


def test_a_check_that_ends_stops_the_run(base: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    job = write_job(tmp_path, base, rows(8), extra={"reward": command}, **SETTINGS)
    assert "cannot be checked" in stopped("grpo", job)


def test_a_weight_that_is_not_finite_stops_the_run(base: Path, tmp_path: Path) -> None:
    command = {"reward": [sys.executable, "-c", CAPITALS]}
    job = write_job(tmp_path, base, rows(8), evaluate_every=1, extra=command, **SETTINGS)
    with poisoned("grpo", step=2):
        assert "no answer can be drawn in step 3" in stopped("grpo", job)


def test_a_batch_is_divided_into_as_many_answers_as_fit() -> None:
    generations = worker_module("grpo")._generations
    assert [generations(batch) for batch in (32, 8, 12, 10, 3)] == [8, 8, 6, 5, 3]
