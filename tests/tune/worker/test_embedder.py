"""Embedding models are trained with each loss, and written so that ragkit loads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from ragkit.embed.local import LocalEmbedder
from tests.tune.worker.here import run_here, script
from tests.tune.worker.tiny import logged, pair_rows, write_encoder, write_job

pytestmark = pytest.mark.long

TAUGHT: Final[dict[str, Any]] = {"steps": 120, "evaluate_every": 40, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory, base: Path) -> Path:
    """A model that has learned the toy task."""
    folder = tmp_path_factory.mktemp("teacher")
    job = write_job(folder / "run", base, pair_rows(160), pair_rows(40, seed=9), **TAUGHT)
    code, lines = run_here(job)
    assert code == 0, lines[-3:]
    return folder / "run/model"


def measures(folder: Path) -> list[float]:
    return [line["dev"]["ndcg@10"] for line in logged(folder) if "dev" in line]


def test_a_model_learns_and_ragkit_embeds_as_the_trainer(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragkit.embed.precision.cpu_precision", lambda: "float32")
    job = write_job(tmp_path / "run", base, pair_rows(160), pair_rows(40, seed=9), **TAUGHT)
    values = json.loads(job.read_text("utf-8"))
    values["prefixes"] = {"query": "say78 ", "passage": "say79 "}
    job.write_text(json.dumps(values), "utf-8")
    code, lines = run_here(job, compares=True)
    assert code == 0, lines[-3:]
    first, *_, last = measures(tmp_path / "run")
    assert first < 0.1
    assert last > 0.4
    losses = [line["loss"] for line in logged(tmp_path / "run") if "loss" in line]
    assert sum(losses[-10:]) < 0.7 * sum(losses[:10])
    shown = next(line for line in logged(tmp_path / "run") if line.get("event") == "first row")
    assert shown["texts"][0].startswith("[CLS] say78 ")
    embedder = LocalEmbedder(str(tmp_path / "run/model"), device="cpu")
    assert embedder.space.query_prefix == "say78 "
    assert embedder.space.passage_prefix == "say79 "
    model = script("embedder").load(str(tmp_path / "run/model"))
    text = "lofil sudop say7"
    trained = script("embedder").encode(model, [text], "passage")[0]
    assert np.abs(embedder.embed_passages([text])[0] - trained).max() < 1e-5
    modules = json.loads((tmp_path / "run/model/modules.json").read_text("utf-8"))
    assert [module["path"] for module in modules] == ["", "1_Pooling"]  # mean, as for the base


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "cached-mnrl", "micro_batch": 4},
        {"loss": "gist"},
        {"loss": "mnrl", "matryoshka": [16, 8], "micro_batch": 8},
        {"loss": "margin-mse"},
        {"loss": "kl", "micro_batch": 8},
        {"parameters": "lora"},
        {"precision": "bf16", "checkpointing": "on"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_each_loss_falls_and_improves_the_search(
    tmp_path: Path, base: Path, teacher: Path, settings: dict[str, Any]
) -> None:
    job = write_job(
        tmp_path / "run",
        base,
        pair_rows(160),
        pair_rows(40, seed=9),
        teacher=str(teacher) if settings.get("loss") in {"gist", "margin-mse", "kl"} else "",
        **{**TAUGHT, "negatives": 3, "steps": 80, **settings},
    )
    code, lines = run_here(job)
    assert code == 0, lines[-3:]
    losses = [line["loss"] for line in logged(tmp_path / "run") if "loss" in line]
    # Scores of four passages, and few weights, teach little of a language of 40 words.
    small = settings.get("loss") == "kl" or settings.get("parameters") == "lora"
    assert sum(losses[-10:]) < (0.99 if small else 0.95) * sum(losses[:10])
    values = measures(tmp_path / "run")
    assert max(values[1:]) > values[0] + (0.01 if small else 0.1)
    assert LocalEmbedder(str(tmp_path / "run/model"), device="cpu").space.dimension == 32


def test_a_model_trained_in_bfloat16_is_written_as_it_will_be_loaded(
    tmp_path: Path, base: Path
) -> None:
    """It is compared with what a new process loads, which computes in float32."""
    settings: dict[str, Any] = {"steps": 2, "precision": "bf16"}
    job = write_job(tmp_path / "run", base, pair_rows(32), pair_rows(8, seed=9), **settings)
    code, lines = run_here(job, compares=True)
    assert code == 0, lines[-1]


def test_a_prefix_lost_at_saving_is_noticed(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = script("embedder")
    load = embedder.load

    def load_forgetful(folder: str) -> Any:
        model = load(folder)
        save = model.save_pretrained

        def save_without_prompts(path: str, **options: Any) -> None:
            save(path, **options)
            (Path(path) / "config_sentence_transformers.json").write_text("{}", "utf-8")

        model.save_pretrained = save_without_prompts
        return model

    monkeypatch.setattr(embedder, "load", load_forgetful)
    job = write_job(tmp_path / "run", base, pair_rows(32), pair_rows(8, seed=9), steps=2)
    values = json.loads(job.read_text("utf-8"))
    job.write_text(json.dumps({**values, "prefixes": {"query": "say0 ", "passage": ""}}), "utf-8")
    code, lines = run_here(job, compares=True)
    assert code == 1
    assert lines[-1].startswith("stopped: the written model is not the trained one (vectors are ")
    assert not (tmp_path / "run/model").exists()
    assert (tmp_path / "run/checkpoints/step-000002").is_dir()
