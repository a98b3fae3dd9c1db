"""Rerankers are trained with each loss, and written so that ragkit loads them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ragkit.rerank.cross_encoder import CrossEncoderReranker
from tests.tune.worker.here import run_here, stop_of
from tests.tune.worker.tiny import WORDS, logged, write_encoder, write_job

pytestmark = pytest.mark.long

GOOD, BAD = WORDS[:10], WORDS[10:]  # what passages that answer are made of, and others


def ranked_rows(
    count: int, *, seed: int, negatives: int = 3, scores: bool = False
) -> list[dict[str, Any]]:
    """Make rows with a passage of good words, and others of bad words."""
    draw = random.Random(seed)
    rows = []
    for n in range(count):
        texts = [" ".join(draw.sample(words, 5)) for words in (GOOD, *[BAD] * negatives)]
        row = {
            "id": f"r{seed}-{n}",
            "query": f"{' '.join(draw.sample(WORDS, 3))} ask{n % 40}",
            "positive": texts[0],
            "negatives": texts[1:],
            "group": f"g{seed}-{n}",
        }
        rows.append(row | ({"scores": [4.0, 0.0, -1.0, -1.0]} if scores else {}))
    return rows


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("base"))


@pytest.mark.parametrize(
    ("loss", "settings"),
    [("lambda", {}), ("bce", {"parameters": "lora", "steps": 40}), ("margin-mse", {}), ("kl", {})],
)
def test_each_loss_teaches_the_good_words(
    tmp_path: Path, base: Path, loss: str, settings: dict[str, Any]
) -> None:
    taught = loss in {"margin-mse", "kl"}
    rows = ranked_rows(64, seed=1, scores=taught)
    job = write_job(
        tmp_path / "run",
        base,
        rows,
        ranked_rows(12, seed=2, negatives=9),
        kind="reranker",
        loss=loss,
        **{"steps": 24, "evaluate_every": 12, "micro_batch": 8, "learning_rate": 0.01, **settings},
    )
    code, output = run_here(job, "reranker", compares=loss == "lambda")
    assert code == 0, output[-3:]
    lines = logged(tmp_path / "run")
    first, last = (line["dev"]["ndcg@10"] for line in (lines[0], max_dev(lines)))
    assert last > first
    assert last > 0.9
    losses = [line["loss"] for line in lines if "loss" in line]
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])
    assert min(line["tokens"] for line in lines if "loss" in line) > 16 * 4 * 5
    reranker = CrossEncoderReranker(str(tmp_path / "run/model"), device="cpu")
    good, bad = reranker.rerank("karan ask3", [" ".join(GOOD[3:6]), " ".join(BAD[3:6])])
    assert good > bad


def max_dev(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return max((line for line in lines if "dev" in line), key=lambda line: line["dev"]["ndcg@10"])


def test_a_reranker_trained_in_bfloat16_is_written_as_it_will_be_loaded(
    tmp_path: Path, base: Path
) -> None:
    """It is compared with what a new process loads, which computes in float32."""
    rows, dev = ranked_rows(32, seed=1), ranked_rows(8, seed=2)
    settings: dict[str, Any] = {"steps": 2, "precision": "bf16"}
    job = write_job(tmp_path / "run", base, rows, dev, kind="reranker", **settings)
    code, output = run_here(job, "reranker", compares=True)
    assert code == 0, output[-1]


def test_wrong_jobs_are_refused_with_a_remedy(tmp_path: Path, base: Path) -> None:
    for name, rows, settings, reason in (
        ("teacher", ranked_rows(8, seed=1), {"loss": "kl"}, "needs a teacher's scores in the rows"),
        ("none", ranked_rows(8, seed=1), {"negatives": 0}, "rows without negatives teach a"),
    ):
        job = write_job(
            tmp_path / name, base, rows, ranked_rows(4, seed=2), kind="reranker", **settings
        )
        assert reason in stop_of(job, "reranker")


def test_a_base_with_two_labels_is_refused(tmp_path: Path, base: Path) -> None:
    two = tmp_path / "two"
    two.mkdir()
    for file in base.iterdir():
        (two / file.name).write_bytes(file.read_bytes())
    config = json.loads((two / "config.json").read_text("utf-8"))
    config |= {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "a", "1": "b"}}
    (two / "config.json").write_text(json.dumps(config), "utf-8")
    rows = ranked_rows(8, seed=1)
    job = write_job(tmp_path / "run", two, rows, ranked_rows(4, seed=2), kind="reranker")
    reason = stop_of(job, "reranker")
    assert "has 2 labels where a reranker has one: name another base" in reason
