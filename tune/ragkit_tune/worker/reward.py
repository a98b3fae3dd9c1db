"""Train a reward model on preferences with TRL's RewardTrainer: `python reward.py job.json`.

It scores a question with an answer: a causal model whose output layer is one number.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from job import Job, main, read_both  # beside this script
from language_model import SCORING, Columns, open_run, train_on_rows, trainer_arguments
from preference import read_pairs
from training import run_within_memory

MEASURES = {"accuracy": "accuracy", "margin": "margin"}


def train(job: Job) -> None:
    """Train the job's base on its rows and write the adapter, or the model."""
    log, encoder = open_run(job)
    (rows, encoded), (dev, _) = (read_pairs(encoder, rows) for rows in read_both(job))
    encoder.check(encoded, log)
    count = len(rows["row"])

    def attempt(job: Job, micro_batch: int) -> None:
        from trl import RewardConfig, RewardTrainer

        sets = _whole(rows), _whole(dev)
        train_on_rows(
            RewardTrainer,
            RewardConfig(**trainer_arguments(job, count, micro_batch), max_length=None),
            sets,
            MEASURES,
            job=job,
            log=log,
            tokenizer=encoder.tokenizer,
            compared=sets[1]["chosen_ids"][0],
            task=SCORING,
        )

    run_within_memory(job, log, min(job.setting("batch"), count), attempt)


def _whole(rows: Columns) -> Columns:
    """Return rows with the prompt before each answer, as the trainer's collator reads them."""

    def joined(answers: Sequence[list[int]]) -> list[list[int]]:
        prompts = rows["prompt_ids"]
        return [prompt + answer for prompt, answer in zip(prompts, answers, strict=True)]

    return {
        "chosen_ids": joined(rows["chosen_ids"]),
        "rejected_ids": joined(rows["rejected_ids"]),
        "row": rows["row"],
    }


if __name__ == "__main__":
    sys.exit(main(train))
