"""Train an adapter on answers with TRL's SFTTrainer: `python sft.py job.json`.

Only the last message of a row, the assistant's, is trained. The rows reach the trainer as tokens
with labels, so that neither a template nor a length decides in silence what is trained.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from job import Job, main, read_both  # beside this script
from language_model import Columns, open_run, train_on_rows, trainer_arguments
from language_model_rows import Encoded
from training import run_within_memory

MEASURES = {"mean_token_accuracy": "accuracy"}


def train(job: Job) -> None:
    """Train the job's base on its rows and write the adapter, or the model."""
    log, encoder = open_run(job)
    train_rows, dev_rows = (
        [encoder.encode(row["id"], row["messages"][:-1], answer_of(row)) for row in rows]
        for rows in read_both(job)
    )
    encoder.check(train_rows, log)

    def attempt(job: Job, micro_batch: int) -> None:
        from trl import SFTConfig, SFTTrainer

        args = SFTConfig(
            **trainer_arguments(job, len(train_rows), micro_batch),
            max_length=None,  # rows that are too long were refused
            packing=False,
            dataset_kwargs={"skip_prepare_dataset": True},
        )
        train_on_rows(
            SFTTrainer,
            args,
            (columns(train_rows), columns(dev_rows)),
            MEASURES,
            job=job,
            log=log,
            tokenizer=encoder.tokenizer,
            compared=dev_rows[0].ids,
        )

    run_within_memory(job, log, min(job.setting("batch"), len(train_rows)), attempt)


def answer_of(row: dict[str, Any]) -> str:
    """Return the assistant's message that ends a row's conversation; "" where none does."""
    last = row["messages"][-1]
    return str(last["content"]) if last["role"] == "assistant" else ""


def columns(rows: Sequence[Encoded]) -> Columns:
    """Return rows as the trainer's collator reads them: -100 marks what is not trained."""
    return {
        "input_ids": [row.ids for row in rows],
        "labels": [[-100] * len(row.prompt) + row.answer for row in rows],
        "row": [row.row for row in rows],
    }


if __name__ == "__main__":
    sys.exit(main(train))
