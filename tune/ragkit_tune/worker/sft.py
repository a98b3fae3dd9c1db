"""Train an adapter on answers with TRL's SFTTrainer: `python sft.py job.json`.

Only the last message of a row, the assistant's, is trained. The rows reach the trainer as tokens
with labels, so that neither a template nor a length decides in silence what is trained.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from guard import Guard  # beside this script
from job import Job, Log, main, read_rows
from language_model import (
    CAUSAL,
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
    Encoded,
    Encoder,
    load_tokenizer,
    stop_tokens,
)
from language_model_write import write_result
from training import dataset_of, run_within_memory, total_steps

MEASURES = {"mean_token_accuracy": "accuracy"}


def train(job: Job) -> None:
    """Train the job's base on its rows and write the adapter, or the model."""
    log = open_log(job)
    log.tell("stage: reading the rows")
    tokenizer = load_tokenizer(job.base)
    encoder = Encoder(tokenizer, stop_tokens(job.base, tokenizer), job.setting("max_tokens"))
    train_rows, dev_rows = (
        [encoder.encode(row["id"], row["messages"][:-1], answer_of(row)) for row in rows]
        for rows in (
            read_rows(job.train, job.train_hash),
            read_rows(job.dev, job.dev_hash),
        )
    )
    encoder.check(train_rows, log)
    batch = min(job.setting("batch"), len(train_rows))

    def attempt(job: Job, micro_batch: int) -> None:
        _attempt(job, tokenizer, train_rows, dev_rows, log, batch, micro_batch)

    run_within_memory(job, log, min(job.setting("micro_batch") or batch, batch), attempt)


def answer_of(row: dict[str, Any]) -> str:
    """Return the assistant's message that ends a row's conversation; "" where none does."""
    last = row["messages"][-1]
    return str(last["content"]) if last["role"] == "assistant" else ""


def _attempt(
    job: Job,
    tokenizer: Any,
    train_rows: Sequence[Encoded],
    dev_rows: Sequence[Encoded],
    log: Log,
    batch: int,
    micro_batch: int,
) -> None:
    from trl import SFTConfig, SFTTrainer

    log.tell("stage: loading the model")
    steps = total_steps(job, len(train_rows))

    def measure() -> dict[str, float]:
        return measure_loss(trainer, MEASURES)

    stopping = stopping_of(job, log, steps, measure)
    guard = Guard(log, steps)
    model = load_base(job, CAUSAL)
    args = SFTConfig(
        **trainer_arguments(job, len(train_rows), batch, micro_batch),
        max_length=None,  # rows that are too long were refused
        packing=False,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    trainer = trainer_class(SFTTrainer, job, guard, stopping, log)(
        model=model,
        args=args,
        train_dataset=dataset_of(columns(train_rows)),
        eval_dataset=dataset_of(columns(dev_rows)),
        processing_class=tokenizer,
        peft_config=trained_part(job, CAUSAL),
        callbacks=[stopping, guard],
    )
    run_trainer(trainer, job, stopping, log, measure)
    if is_first():
        write_result(job, trainer, tokenizer, _text(dev_rows[0]), CAUSAL, log)


def columns(rows: Sequence[Encoded]) -> dict[str, list[Any]]:
    """Return rows as the trainer's collator reads them: -100 marks what is not trained."""
    return {
        "input_ids": [_text(row) for row in rows],
        "labels": [[-100] * len(row.prompt) + row.answer for row in rows],
        "row": [row.row for row in rows],
    }


def _text(row: Encoded) -> list[int]:
    return row.prompt + row.answer


if __name__ == "__main__":
    sys.exit(main(train))
