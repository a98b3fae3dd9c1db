"""Train a reward model on preferences with TRL's RewardTrainer: `python reward.py job.json`.

It scores a question with an answer: a causal model whose output layer is one number.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from guard import Guard  # beside this script
from job import Job, Log, main, read_rows
from language_model import (
    SCORING,
    is_first,
    load_base,
    measure_loss,
    open_log,
    run_trainer,
    stopping_of,
    trained_part,
    trainer_arguments,
    trainer_class,
)
from language_model_rows import (
    Encoder,
    load_tokenizer,
    stop_tokens,
)
from language_model_write import write_result
from preference import Columns, read_pairs
from training import dataset_of, run_within_memory, total_steps

MEASURES = {"accuracy": "accuracy", "margin": "margin"}


def train(job: Job) -> None:
    """Train the job's base on its rows and write the adapter, or the model."""
    log = open_log(job)
    log.tell("stage: reading the rows")
    tokenizer = load_tokenizer(job.base)
    encoder = Encoder(tokenizer, stop_tokens(job.base, tokenizer), job.setting("max_tokens"))
    rows, encoded = read_pairs(encoder, read_rows(job.train, job.train_hash))
    dev, _ = read_pairs(encoder, read_rows(job.dev, job.dev_hash))
    encoder.check(encoded, log)
    batch = min(job.setting("batch"), len(rows["row"]))

    def attempt(job: Job, micro_batch: int) -> None:
        _attempt(job, tokenizer, (_whole(rows), _whole(dev)), log, batch, micro_batch)

    run_within_memory(job, log, min(job.setting("micro_batch") or batch, batch), attempt)


def _attempt(
    job: Job,
    tokenizer: Any,
    rows: tuple[Columns, Columns],
    log: Log,
    batch: int,
    micro_batch: int,
) -> None:
    from trl import RewardConfig, RewardTrainer

    log.tell("stage: loading the model")
    count = len(rows[0]["row"])
    steps = total_steps(job, count)

    def measure() -> dict[str, float]:
        return measure_loss(trainer, MEASURES)

    stopping = stopping_of(job, log, steps, measure)
    guard = Guard(log, steps)
    args = RewardConfig(**trainer_arguments(job, count, batch, micro_batch), max_length=None)
    trainer = trainer_class(RewardTrainer, job, guard, stopping, log)(
        model=load_base(job, SCORING),
        args=args,
        train_dataset=dataset_of(rows[0]),
        eval_dataset=dataset_of(rows[1]),
        processing_class=tokenizer,
        peft_config=trained_part(job, SCORING),
        callbacks=[stopping, guard],
    )
    run_trainer(trainer, job, stopping, log, measure)
    if is_first():
        write_result(job, trainer, tokenizer, rows[1]["chosen_ids"][0], SCORING, log)


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
