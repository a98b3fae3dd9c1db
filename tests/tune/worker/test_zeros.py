"""A base that was pruned by magnitude is trained without growing its zeros again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ragkit_tune.shrink.shrink import ShrinkOptions, shrink_model
from tests.tune.worker.here import run_here
from tests.tune.worker.tiny import logged, pair_rows, write_encoder, write_job
from tests.tune.worker.tiny_language_models import chat_rows, write_language_model
from tests.tune.worker.tiny_language_models import run_here as run_language_model
from tests.tune.worker.tiny_language_models import write_job as write_language_job

pytestmark = pytest.mark.long


def test_a_recovery_run_keeps_the_zeros_and_wins_back_what_they_cost(tmp_path: Path) -> None:
    base = write_encoder(tmp_path / "base")
    rows, dev = pair_rows(160), pair_rows(40, seed=9)
    learned = write_job(
        tmp_path / "learned", base, rows, dev, steps=120, evaluate_every=40, learning_rate=0.01
    )
    assert run_here(learned)[0] == 0
    shrink_model(str(tmp_path / "learned/model"), ShrinkOptions(magnitude=0.7), tmp_path / "pruned")
    job = write_job(
        tmp_path / "recovered", tmp_path / "pruned", rows, dev,
        steps=60, evaluate_every=20, learning_rate=0.003,
    )  # fmt: skip
    assert run_here(job)[0] == 0
    lines = logged(tmp_path / "recovered")
    measures = [line["dev"]["ndcg@10"] for line in lines if "dev" in line]
    assert max(measures) > measures[0] + 0.05
    assert any("pruned matrices of the base stay zero" in line.get("event", "") for line in lines)
    pruned = load_file(tmp_path / "pruned/model.safetensors")
    recovered = load_file(tmp_path / "recovered/model/model.safetensors")
    zeros = {name: weights == 0 for name, weights in pruned.items() if weights.dim() == 2}
    shares = [float(mask.double().mean()) for mask in zeros.values()]
    assert sum(share > 0.3 for share in shares) >= 6
    for name, mask in zeros.items():
        if float(mask.double().mean()) > 0.3:
            assert torch.equal(recovered[name] == 0, mask), name
            assert not torch.equal(recovered[name], pruned[name]), name


def test_a_language_model_keeps_its_zeros_too(tmp_path: Path) -> None:
    base = write_language_model(tmp_path / "base")
    file = base / "model.safetensors"
    pruned = {name: w.masked_fill(w.abs() < 0.05, 0) for name, w in load_file(file).items()}
    save_file(pruned, file, metadata={"format": "pt"})
    (base / "card.json").write_text(json.dumps({"settings": {"magnitude": 0.4}}), "utf-8")
    job = write_language_job(tmp_path / "run", base, chat_rows(16), steps=4, parameters="full")
    assert run_language_model("sft", job)[0] == 0
    trained = load_file(tmp_path / "run/model/model.safetensors")
    for name, weights in pruned.items():
        if weights.dim() == 2:
            assert torch.equal(trained[name] == 0, weights == 0), name
    name = "model.layers.0.mlp.up_proj.weight"
    assert not torch.equal(trained[name], pruned[name])


def test_a_base_without_zeros_is_trained_whole(tmp_path: Path) -> None:
    base = write_encoder(tmp_path / "base")
    job = write_job(tmp_path / "run", base, pair_rows(64), pair_rows(16, seed=9))
    assert run_here(job)[0] == 0
    assert not any("stay zero" in line.get("event", "") for line in logged(tmp_path / "run"))


def test_a_base_with_zeros_that_nobody_pruned_is_trained_whole(tmp_path: Path) -> None:
    base = write_encoder(tmp_path / "base")
    file = base / "model.safetensors"
    weights = {name: w.masked_fill(w.abs() < 0.03, 0) for name, w in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})  # as a model of few bits has them
    job = write_job(tmp_path / "run", base, pair_rows(64), pair_rows(16, seed=9), steps=2)
    assert run_here(job)[0] == 0
    trained = load_file(tmp_path / "run/model/model.safetensors")
    name = "encoder.layer.0.output.dense.weight"
    assert float((weights[name] == 0).double().mean()) > 0.1
    assert float((trained[name] == 0).double().mean()) < 0.01
