"""Training on preferences: DPO from pairs, KTO from single answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tune.worker.tiny_language_models import (
    OTHER_PROMPT,
    losses,
    poisoned,
    preference_rows,
    rated_rows,
    run_here,
    stopped,
    weights,
    worker_module,
    write_job,
    write_language_model,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_language_model(tmp_path_factory.mktemp("base"))


@pytest.mark.parametrize("parameters", ["lora", "full"])
def test_dpo_learns_to_prefer(base: Path, tmp_path: Path, parameters: str) -> None:
    job = write_job(tmp_path, base, preference_rows(16), method="dpo", parameters=parameters)
    assert run_here("preference", job)[0] == 0
    first, *_, last = losses(tmp_path)
    assert first == pytest.approx(0.6931, abs=1e-3)  # ln 2: the base prefers nothing to itself
    assert last < 0.4
    assert losses(tmp_path, "accuracy")[-1] == 1.0
    assert losses(tmp_path, "margin")[-1] > 0.5
    lines = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()]
    assert len(next(line for line in lines if "loss" in line)["rows"]) == 8


def test_kto_learns_from_single_answers(base: Path, tmp_path: Path) -> None:
    job = write_job(tmp_path, base, rated_rows(16), method="kto")
    assert run_here("preference", job)[0] == 0
    first, *_, last = losses(tmp_path)
    assert first == pytest.approx(0.5, abs=1e-3)
    assert last < 0.35
    assert losses(tmp_path, "margin")[-1] > 0.5
    assert weights(tmp_path / "model")


def test_kto_compares_with_an_answer_of_the_same_batch() -> None:
    rows = {
        "row": list("abcde"),
        "prompt_ids": [[n] for n in range(5)],
        "completion_ids": [[10 + n] for n in range(5)],
        "label": [True, False, True, False, True],
    }
    made = worker_module("preference").with_others(rows, 0, 2)
    assert sorted(made["row"]) == list("abcde")
    answers, others = made["completion_ids"], made["KL_completion_ids"]
    assert all(answer != other for answer, other in zip(answers, others, strict=True))
    assert others[:4] == [answers[1], answers[0], answers[3], answers[2]]
    assert others[4] == answers[3]  # alone in its batch


def test_dpo_resumes_with_the_same_weights(base: Path, tmp_path: Path) -> None:
    rows = preference_rows(16)
    assert run_here("preference", write_job(tmp_path / "whole", base, rows, method="dpo"))[0] == 0
    checkpoint = str(tmp_path / "whole/checkpoints/step-000003")
    resumed = write_job(tmp_path / "resumed", base, rows, method="dpo", resume=checkpoint)
    assert run_here("preference", resumed)[0] == 0
    file = "model/adapter_model.safetensors"
    assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "resumed" / file).read_bytes()


def prefer_to_itself(rows: list[dict[str, Any]]) -> None:
    rows[3]["rejected"] = rows[3]["chosen"]


def reject_much(rows: list[dict[str, Any]]) -> None:
    rows[3]["rejected"] = "It is too long. " * 20


def choose_nothing(rows: list[dict[str, Any]]) -> None:
    rows[3]["chosen"] = ""


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (prefer_to_itself, "1 rows prefer an answer to itself (rows r3)"),
        (reject_much, "texts (r3: 371) have more than 128 tokens: set -o max_tokens=371"),
        (choose_nothing, "texts (r3) have no token to train"),
    ],
)
def test_pairs_that_cannot_be_learnt_from_are_named(
    base: Path, tmp_path: Path, spoil: Any, reason: str
) -> None:
    rows = preference_rows(8)
    spoil(rows)
    job = write_job(tmp_path, base, rows, preference_rows(2), method="dpo")
    assert reason in stopped("preference", job)


def test_kto_needs_both_kinds_of_answers(base: Path, tmp_path: Path) -> None:
    rows = [row for row in rated_rows(16) if row["label"]]
    job = write_job(tmp_path, base, rows, method="kto")
    assert "all 8 answers are liked: KTO needs both" in stopped("preference", job)


def test_a_template_with_another_prompt_is_refused(tmp_path: Path) -> None:
    base = write_language_model(tmp_path / "base", template=OTHER_PROMPT)
    job = write_job(tmp_path / "run", base, preference_rows(8), method="dpo")
    assert "are rendered with another prompt than a server sends" in stopped("preference", job)


@pytest.mark.parametrize("method", ["dpo", "kto"])
def test_a_weight_that_is_not_finite_stops_the_run(base: Path, tmp_path: Path, method: str) -> None:
    rows = preference_rows(16) if method == "dpo" else rated_rows(16)
    job = write_job(tmp_path, base, rows, method=method)
    with poisoned("preference", step=3):
        line = stopped("preference", job)
    assert "of step 4 is nan (rows r" in line
    assert [path.name for path in (tmp_path / "checkpoints").glob("step-*")] == ["step-000003"]
