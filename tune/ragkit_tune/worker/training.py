"""What all workers share: rows, arguments, memory, the trainer, the whole run."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from checkpoints import (  # type: ignore[import-not-found]  # beside this script
    Stopping,
    WholeCheckpoints,
    from_first,
    load_trainable,
    newest_checkpoint,
    read_checkpoint,
)
from guard import ROW, Collator, Guard, RowsOfStep, check_weights  # type: ignore[import-not-found]
from job import Job, Log, StopError, read_both  # type: ignore[import-not-found]
from pair_batches import (  # type: ignore[import-not-found]
    negatives_of_most,
    shared_batch,
    steps_of,
    with_negatives,
)
from row_checks import check_pairs, check_prefixes  # type: ignore[import-not-found]
from zeros import KeepZeros, is_pruned  # type: ignore[import-not-found]

SCHEDULES: Final = {"cosine": "cosine", "linear": "linear", "constant": "constant_with_warmup"}
_OPTIMIZERS: Final = {"adamw": "adamw_torch_fused", "adamw-8bit": "adamw_8bit"}
_FEWEST_STEPS: Final = 5  # between two measures, where a run has so many; arbitrary


@dataclass(frozen=True)
class Rows:
    """The rows of a job, each of the train set with the same number of negatives."""

    train: list[dict[str, Any]]
    dev: list[dict[str, Any]]


def read_pairs(job: Job, *, draws: bool) -> Rows:
    """Read the rows of train and dev. Raises StopError for changed, empty or wrong rows.

    Rows with too few negatives get drawn ones. Without `draws`, for a loss in which the other rows
    of a batch are negatives anyway, that is so only where most rows have negatives.
    """
    train, dev = read_both(job)
    check_pairs(train, dev)
    check_prefixes([*train, *dev], dict(job.prefixes))
    count = job.setting("negatives")
    if not draws:
        count = negatives_of_most(train, count)
    return Rows(with_negatives(train, count, job.setting("seed")), dev)


def total_steps(job: Job, rows: int, batch: int = 0) -> int:
    """Return the steps of the optimizer: as set, or by the epochs; `batch` is that of the job."""
    by_epochs = steps_of(job.setting("epochs"), rows, batch or whole_batch(job, rows))
    return int(job.setting("steps") or by_epochs)


def whole_batch(job: Job, rows: int) -> int:
    """Return the rows of a step: as set, but no more than there are, and equally many a GPU.

    Raises StopError where the GPUs outnumber the rows.
    """
    gpus = job.setting("gpus")
    batch = shared_batch(job.setting("batch"), rows, gpus)
    if not batch:
        raise StopError(
            f"{rows} rows cannot be shared by {gpus} GPUs: set a smaller -o gpus, or add rows"
        )
    return int(batch)


def is_first() -> bool:
    """Tell whether this is the process that writes."""
    return os.environ.get("RANK", "0") == "0"


def open_log(job: Job) -> Log:
    """Open the log of a job, from the step that it goes on from."""
    step = int(Path(job.resume).name.rpartition("-")[2]) if job.resume else 0
    return Log(job.log, from_step=step, is_writer=is_first())


def divisor(number: int, limit: int) -> int:
    """Return the largest divisor of a number that is at most a limit.

    >>> divisor(32, 5), divisor(7, 4), divisor(8, 8)
    (4, 1, 8)
    """
    return max(n for n in range(1, max(1, min(number, limit)) + 1) if number % n == 0)


def precision_of(job: Job) -> str:
    """Return fp32, bf16 or fp16. Raises StopError for fp16 without a GPU."""
    import torch

    named = str(job.setting("precision"))
    has_gpu = torch.cuda.is_available()
    if named == "auto":
        return "bf16" if has_gpu and torch.cuda.is_bf16_supported() else "fp32"
    if named == "fp16" and not has_gpu:
        raise StopError("precision fp16 needs a GPU: set -o precision=fp32 or bf16")
    return named


def arguments(job: Job, steps: int, micro_batch: int, accumulation: int) -> dict[str, Any]:
    """Return the arguments that every trainer of transformers takes. Raises StopError."""
    import torch

    precision = precision_of(job)
    if job.setting("optimizer") == "adamw-8bit":
        _need_bitsandbytes()
    return {
        "output_dir": job.checkpoints,
        "max_steps": steps,
        "per_device_train_batch_size": micro_batch,
        "gradient_accumulation_steps": accumulation,
        "learning_rate": job.setting("learning_rate"),
        "warmup_steps": round(steps * job.setting("warmup")),
        "lr_scheduler_type": SCHEDULES[job.setting("schedule")],
        "weight_decay": job.setting("weight_decay"),
        "max_grad_norm": job.setting("clip"),
        "optim": _OPTIMIZERS[job.setting("optimizer")],
        "bf16": precision == "bf16",
        "fp16": precision == "fp16",
        "activation_checkpointing": job.setting("checkpointing") == "on",
        "seed": job.setting("seed"),
        "data_seed": job.setting("seed"),
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # it replaces NaN by the mean of the losses before
        "report_to": [],
        "disable_tqdm": True,
        "save_strategy": "no",  # `Stopping` says when
        "eval_strategy": "no",
        "use_cpu": not torch.cuda.is_available(),
        "dataloader_num_workers": 0,
        "remove_unused_columns": False,
    }


def add_lora(model: Any, job: Job, task: str) -> None:
    """Freeze a model of sentence-transformers and add LoRA's matrices, for one of PEFT's tasks."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        task_type=task,
        r=job.setting("rank"),
        lora_alpha=job.setting("alpha"),
        target_modules="all-linear",
    )
    model[0].model = get_peft_model(model[0].model, config)


def trainer_class(base: type, make_batches: Callable[..., Any]) -> Any:
    """Make a class of trainers of sentence-transformers, for `make_trainer`."""

    class GuardedTrainer(RowsOfStep, WholeCheckpoints, base):  # type: ignore[misc, valid-type]
        def get_batch_sampler(self, dataset: Any, **options: Any) -> Any:
            """Return the batches of the whole run."""
            return make_batches(dataset, **options)

        def add_model_card_callback(self, *arguments: Any) -> None:
            """Write no card: it would quote rows."""

    return GuardedTrainer


def make_trainer(
    kind: Any,
    job: Job,
    log: Log,
    steps: int,
    measure: Callable[[Any], dict[str, float]],
    *,
    decides: str = "ndcg@10",
    guard: type[Guard] = Guard,
    has_row_ids: bool = True,
    **options: Any,
) -> Any:
    """Make a trainer that is guarded, measures on the dev set, and ends when nothing is gained.

    `kind` is a class with the mixins `RowsOfStep` and `WholeCheckpoints`, `options` are its own.
    `measure` takes the model; of its measures `decides` says which step is the best: the highest,
    or the lowest loss.
    """
    every = job.setting("evaluate_every") or max(min(steps, _FEWEST_STEPS), steps // 10)
    stopping = Stopping(
        log,
        measure,
        name=decides,
        every=every,
        save_every=job.setting("save_every") or every,
        patience=job.setting("patience"),
        minutes=job.setting("minutes"),
        is_lower_better=decides == "loss",
    )
    watching = guard(log, steps, minutes=job.setting("minutes"))
    trainer = kind(callbacks=[stopping, watching, KeepZeros(job, log)], **options)
    if is_sharded(trainer) and is_pruned(Path(job.base)):
        raise StopError(
            "the zeros of a pruned base cannot be kept where each GPU has a part of the weights:"
            " set -o sharding=ddp"
        )
    trainer.guard, trainer.job, trainer.stopping, trainer.log_file = watching, job, stopping, log
    if has_row_ids:
        trainer.data_collator = Collator(trainer.data_collator)
    return trainer


def run_within_memory(job: Job, log: Log, batch: int, attempt: Callable[[Job, int], None]) -> None:
    """Make attempts with half the rows in memory at once until one fits. Raises StopError.

    The first has the recipe's `micro_batch`, or the whole batch of so many rows.
    The effective batch stays: what is not in memory at once comes one part after the other. An
    attempt goes on from the last checkpoint of the one before. Of several processes the others
    cannot know of it, and would wait for this one's gradients: there the run ends.
    """
    import torch

    micro_batch = min(job.setting("micro_batch") or batch, batch)
    while True:
        try:
            attempt(job, micro_batch)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not _is_memory(error):
                raise
            if micro_batch == 1:
                raise StopError(
                    "a single row does not fit into the memory: set a smaller -o"
                    " max_tokens, or -o checkpointing=on, or take a smaller base"
                ) from error
            if int(os.environ.get("WORLD_SIZE", "1")) > 1:
                raise StopError(
                    f"out of memory with {micro_batch} rows at once: start a new run with"
                    f" -o micro_batch={micro_batch // 2}, or with -o checkpointing=on"
                ) from error
            micro_batch = micro_batch // 2
        else:
            return
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        newest = newest_checkpoint(Path(job.checkpoints))
        step = int(newest.name.rpartition("-")[2]) if newest else 0
        job = replace(job, resume=str(newest) if newest else job.resume)
        log.cut(step)
        log.write(step=step, event=f"out of memory: {micro_batch} rows at once from here")
        log.tell(
            f"stage: out of memory, going on from step {step} with {micro_batch} rows at once, as"
            " many in each step as before"
        )


def _is_memory(error: BaseException) -> bool:
    import torch

    text = str(error)
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        "out of memory" in text or "can't allocate memory" in text
    )


def _need_bitsandbytes() -> None:
    from importlib.util import find_spec

    if find_spec("bitsandbytes") is None:
        raise StopError(
            "optimizer adamw-8bit needs bitsandbytes: pip install bitsandbytes, or set -o"
            " optimizer=adamw"
        )


def dataset_of(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Make a dataset of columns without a file of it in a cache."""
    from datasets import Dataset

    return Dataset.from_dict(dict(columns))


def row_ids(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the column of row ids."""
    return {ROW: [str(row["id"]) for row in rows]}


def finish_training(trainer: Any, make_model: Callable[[], Any]) -> None:
    """Train to the end and leave the weights of the best checkpoint in the trainer's model.

    Where each process has a part of the weights, the first gets a whole model by `make_model`.
    Raises StopError when the process is asked to end, having saved the step at hand.
    """
    from transformers import PrinterCallback

    job, stopping, log = trainer.job, trainer.stopping, trainer.log_file
    trainer.remove_callback(PrinterCallback)
    if job.resume:
        about = read_checkpoint(job)
        stopping.restore(about["stopping"])
        log.seconds_before = max(log.seconds_before, about["seconds"])
        step = int(about["step"])
    else:
        stopping.measure_base(trainer.model)
        step = 0
    if stopping.is_patient:
        with stopping.listening():
            trainer.train(resume_from_checkpoint=job.resume or None)
        step = trainer.state.global_step
        if from_first(stopping.is_asked):
            raise StopError(f"asked to end after step {step}: resume goes on from there")
        check_weights(trainer.model, step)
    is_best = not stopping.best_step or (stopping.best_step == step and stopping.is_patient)
    if is_sharded(trainer):
        trainer.model, is_best = (make_model() if is_first() else None), False
    if not is_best and trainer.model is not None:
        load_trainable(trainer.model, Path(job.checkpoints) / f"step-{stopping.best_step:06d}")
    stopping.note_best(step)


def is_sharded(trainer: Any) -> bool:
    """Tell whether each process holds a part of the weights: by FSDP or ZeRO-3."""
    deepspeed = getattr(trainer.accelerator.state, "deepspeed_plugin", None)
    return bool(trainer.is_fsdp_enabled or (deepspeed and deepspeed.zero_stage == 3))


def as_loaded(trainer: Any) -> Any:
    """Return the trained model as another process loads it: computing in its weights' precision.

    With bf16 and fp16 the trainer puts an autocast around `forward`, which no folder has.
    """
    return trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
