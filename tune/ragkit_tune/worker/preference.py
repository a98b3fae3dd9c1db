"""Train an adapter on preferences with TRL: `python preference.py job.json`.

DPO learns from pairs of a chosen and a rejected answer, KTO from single answers that are liked or
not. The rows reach the trainers as tokens, so that nothing is cut or dropped in silence.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from typing import Any

from job import Job, StopError, main, read_both  # beside this script
from language_model import CAUSAL, Columns, load_base, open_run, train_on_rows, trainer_arguments
from language_model_rows import Encoded, Encoder
from training import run_within_memory

MEASURES = {"rewards/accuracies": "accuracy", "rewards/margins": "margin"}


def train(job: Job) -> None:
    """Train the job's base on its rows and write the adapter, or the model."""
    log, encoder = open_run(job)
    is_kto = job.setting("method") == "kto"
    read = read_rated if is_kto else read_pairs
    (rows, encoded), (dev, encoded_dev) = (read(encoder, rows) for rows in read_both(job))
    encoder.check(encoded, log)
    if is_kto:
        _check_labels(rows, job)

    def attempt(job: Job, micro_batch: int) -> None:
        base, args, sets = _method(job, (rows, dev), micro_batch)
        is_whole = job.setting("parameters") == "full"
        train_on_rows(
            base,
            args,
            sets,
            MEASURES,
            job=job,
            log=log,
            tokenizer=encoder.tokenizer,
            compared=encoded_dev[0].ids,
            ref_model=load_base(job, CAUSAL) if is_whole else None,
        )

    run_within_memory(job, log, min(job.setting("batch"), len(rows["row"])), attempt)


def read_pairs(encoder: Encoder, rows: Sequence[dict[str, Any]]) -> tuple[Columns, list[Encoded]]:
    """Encode rows of a chosen and a rejected answer, as the trainer's collator reads them."""
    equal = [row["id"] for row in rows if row["chosen"].strip() == row["rejected"].strip()]
    if equal:
        raise StopError(
            f"{len(equal)} rows prefer an answer to itself (rows {', '.join(equal[:5])}): remove"
            " them"
        )
    chosen = [encoder.encode(row["id"], row["prompt"], row["chosen"]) for row in rows]
    rejected = [encoder.encode(row["id"], row["prompt"], row["rejected"]) for row in rows]
    columns: Columns = {
        "prompt_ids": [row.prompt for row in chosen],
        "chosen_ids": [row.answer for row in chosen],
        "rejected_ids": [row.answer for row in rejected],
        "row": [row.row for row in chosen],
    }
    return columns, [*chosen, *rejected]


def read_rated(encoder: Encoder, rows: Sequence[dict[str, Any]]) -> tuple[Columns, list[Encoded]]:
    """Encode rows of one answer that is liked or not, as the trainer's collator reads them."""
    encoded = [encoder.encode(row["id"], row["prompt"], row["completion"]) for row in rows]
    columns: Columns = {
        "prompt_ids": [row.prompt for row in encoded],
        "completion_ids": [row.answer for row in encoded],
        "label": [bool(row["label"]) for row in rows],
        "row": [row.row for row in encoded],
    }
    return columns, encoded


def _check_labels(rows: Columns, job: Job) -> None:
    if len(set(rows["label"])) < 2:
        state = "liked" if rows["label"][0] else "disliked"
        raise StopError(
            f"all {len(rows['label'])} answers are {state}: KTO needs both: add the others"
        )
    if len(rows["label"]) < 2 or job.setting("batch") < 2 * job.setting("gpus"):
        raise StopError("KTO compares the answers of a batch: set -o batch=2 a GPU")


def with_others(rows: Columns, seed: int, at_once: int) -> Columns:
    """Add another row's answer to each prompt, of the same batch: KTO's measure of drift.

    The trainer reads rows in order then, so that they are shuffled here, once.
    """
    count = len(rows["row"])
    drawn = [hashlib.sha256(f"{seed} {row}".encode()).hexdigest() for row in rows["row"]]
    order = sorted(range(count), key=lambda n: drawn[n])
    shuffled = {name: [values[n] for n in order] for name, values in rows.items()}
    answers = shuffled["completion_ids"]
    mismatched = []
    for n in range(len(order)):
        start = n - n % at_once
        end = min(start + at_once, len(order))
        other = n - 1 if n > start else end - 1
        mismatched.append(answers[other if other != n else n - 1])
    return {**shuffled, "KL_completion_ids": mismatched}


def _method(
    job: Job, rows: tuple[Columns, Columns], micro_batch: int
) -> tuple[type, Any, tuple[Columns, Columns]]:
    """Return the trainer, its arguments, and the rows as it reads them."""
    from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer

    args = trainer_arguments(job, len(rows[0]["row"]), micro_batch)
    if job.setting("method") == "dpo":
        return _reading_tokens(DPOTrainer), DPOConfig(**args, max_length=None), rows
    at_once = max(2, args["per_device_train_batch_size"])
    per_gpu = args["per_device_train_batch_size"] * args["gradient_accumulation_steps"]
    args |= {
        "per_device_train_batch_size": at_once,
        "per_device_eval_batch_size": at_once,
        "gradient_accumulation_steps": max(1, per_gpu // at_once),
    }
    train, dev = (with_others(columns, job.setting("seed"), at_once) for columns in rows)
    return _reading_tokens(KTOTrainer), KTOConfig(**args, max_length=None), (train, dev)


def _reading_tokens(base: Any) -> type:
    class TokensTrainer(base):  # type: ignore[misc]
        """The trainer without its own preparation, which cuts and drops rows."""

        def _prepare_dataset(self, dataset: Any, *arguments: Any, **options: Any) -> Any:
            return dataset

    return TokensTrainer


if __name__ == "__main__":
    sys.exit(main(train))
