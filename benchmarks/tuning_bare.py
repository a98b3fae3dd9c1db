"""Train by sentence-transformers alone: `python -m benchmarks.tuning_bare JOB.json`.

As its documentation does, with what a job of `ragkit tune embedder` names: base, rows, loss and
numbers. Prints the seconds from the first step to each.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any


def main(file: Path) -> None:
    """Train and print the seconds as a JSON list."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import TrainerCallback

    ends: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *arguments: Any, **context: Any) -> None:
            """Note the time."""
            ends.append(perf_counter())

    job = json.loads(file.read_text("utf-8"))
    recipe = job["recipe"]
    lines = Path(job["train"]).read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    model = SentenceTransformer(job["base"], device="cpu", model_kwargs={"dtype": "float32"})
    model.max_seq_length = recipe["max_tokens"]
    with tempfile.TemporaryDirectory() as folder:
        SentenceTransformerTrainer(
            model=model,
            args=SentenceTransformerTrainingArguments(
                output_dir=folder,
                max_steps=recipe["steps"],
                per_device_train_batch_size=recipe["batch"],
                learning_rate=recipe["learning_rate"],
                weight_decay=recipe["weight_decay"],
                batch_sampler="no_duplicates",
                logging_steps=1,
                save_strategy="no",
                report_to=[],
                disable_tqdm=True,
                use_cpu=True,
            ),
            train_dataset=Dataset.from_dict(
                {name: [row[name] for row in rows] for name in ("query", "positive")}
            ),
            loss=MultipleNegativesRankingLoss(model, scale=recipe["scale"]),
            callbacks=[Clock()],
        ).train()
    print("\n" + json.dumps([end - ends[0] for end in ends]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
