"""What the workers that train language models share: the base, its trained part, the run.

It knows nothing of rows and losses: each worker brings its trainer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from checkpoints import Stopping, WholeCheckpoints
from guard import ROW, Guard, RowsOfStep, with_row_ids
from job import Job, Log, StopError
from training import _save_trainable as save_trainable
from training import (
    arguments,
    finish_training,
    load_trainable,
    precision_of,
    total_steps,
)

CAUSAL: Final = "CAUSAL_LM"
SCORING: Final = "SEQ_CLS"
_FAMILIES: Final = {
    CAUSAL: "AutoModelForCausalLM",
    SCORING: "AutoModelForSequenceClassification",
}


def load_base(job: Job, task: str) -> Any:
    """Load the base: in float32 where all of it is trained, else as the recipe keeps it."""
    import torch
    import transformers

    named = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
    precision = "fp32" if job.setting("parameters") == "full" else precision_of(job)
    extra: dict[str, Any] = {"num_labels": 1} if task == SCORING else {}
    if job.setting("bits") < 16:
        extra |= _quantized(job, named[precision])
    torch.manual_seed(job.setting("seed"))  # a reward model's head begins at random
    try:
        model = getattr(transformers, _FAMILIES[task]).from_pretrained(
            job.base,
            dtype=named[precision],
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            **extra,
        )
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise StopError(f"{job.base} cannot be loaded as a language model ({reason})") from error
    if task == SCORING:
        model.config.get_text_config().pad_token_id = pad_of(job)
    return model


def pad_of(job: Job) -> int:
    """Return the token that fills up rows of a batch."""
    from language_model_rows import load_tokenizer

    return int(load_tokenizer(job.base).pad_token_id)


def _quantized(job: Job, dtype: Any) -> dict[str, Any]:
    from importlib.util import find_spec

    import torch
    import transformers

    bits = job.setting("bits")
    if find_spec("bitsandbytes") is None or not torch.cuda.is_available():
        raise StopError(
            f"bits {bits} needs bitsandbytes and a CUDA GPU: pip install bitsandbytes on a machine"
            " that has one, or set bits to 16"
        )
    if job.setting("parameters") == "full":
        raise StopError(f"bits {bits} cannot train all weights: set parameters to lora")
    make: Any = transformers.BitsAndBytesConfig
    config = make(load_in_8bit=True)
    if bits == 4:
        config = make(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
        )  # fmt: skip
    return {
        "quantization_config": config,
        "device_map": {"": int(os.environ.get("LOCAL_RANK", "0"))},
    }


def trained_part(job: Job, task: str) -> Any:
    """Return PEFT's configuration of what is trained; None for all weights.

    `rank` is LoRA's, or the number of virtual tokens of prompts and prefixes.
    """
    import peft

    kind, rank = job.setting("parameters"), job.setting("rank")
    if kind == "full":
        return None
    if kind == "prompt":
        return peft.PromptTuningConfig(
            task_type=task, num_virtual_tokens=rank, prompt_tuning_init="SAMPLE_VOCAB"
        )
    if kind == "prefix":
        return peft.PrefixTuningConfig(task_type=task, num_virtual_tokens=rank)
    return peft.LoraConfig(
        task_type=task,
        r=rank,
        lora_alpha=job.setting("alpha"),
        target_modules="all-linear",  # the output layer is none of them
        modules_to_save=["score"] if task == SCORING else None,
    )


def trainer_arguments(job: Job, rows: int, batch: int, micro_batch: int) -> dict[str, Any]:
    """Return the arguments that all of TRL's trainers take, for an effective batch of rows."""
    import torch

    per_gpu = max(1, batch // job.setting("gpus"))
    at_once = divisor(per_gpu, micro_batch)
    checkpointing = job.setting("checkpointing")
    is_on = checkpointing == "on" or (checkpointing == "auto" and torch.cuda.is_available())
    if is_on and job.setting("parameters") == "prefix":
        if checkpointing == "on":
            raise StopError("prefixes cannot be trained with checkpointing: set it to off")
        is_on = False
    common = arguments(job, total_steps(job, rows), at_once, per_gpu // at_once)
    return common | {
        "activation_checkpointing": is_on,  # TRL's default is on
        "per_device_eval_batch_size": at_once,
    }


def divisor(batch: int, limit: int) -> int:
    """Return the largest divisor of a batch that is at most a limit.

    >>> divisor(32, 5), divisor(7, 4), divisor(8, 8)
    (4, 1, 8)
    """
    return max(n for n in range(1, max(1, min(batch, limit)) + 1) if batch % n == 0)


def trainer_class(base: type, job: Job, guard: Guard, stopping: Stopping, log: Log) -> Any:
    """Make a trainer of TRL that is guarded, writes whole checkpoints and tells nobody of it."""

    class GuardedTrainer(RowsOfStep, WholeCheckpoints, base):  # type: ignore[misc, valid-type]
        def create_model_card(self, *rest: Any, **named: Any) -> None:
            """Write no card: ragkit writes one."""

        def _send_telemetry(self) -> None:
            """Send nothing."""

        def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
            assert output_dir is not None
            Path(output_dir).mkdir(parents=True, exist_ok=True)
            save_trainable(self.model, Path(output_dir))

        def _load_from_checkpoint(self, checkpoint_path: str, *rest: Any, **named: Any) -> None:
            load_trainable(self.model, Path(checkpoint_path))

    GuardedTrainer.guard = guard
    GuardedTrainer.job = job
    GuardedTrainer.stopping = stopping
    GuardedTrainer.log_file = log
    return GuardedTrainer


def stopping_of(
    job: Job,
    log: Log,
    steps: int,
    measure: Callable[[], dict[str, float]],
    *,
    name: str = "loss",
    is_lower_better: bool = True,
) -> Stopping:
    """Make what measures on the dev set, saves, and ends the run."""
    every = job.setting("evaluate_every") or max(1, steps // 10)
    return Stopping(
        log,
        lambda _: measure(),
        name=name,
        every=every,
        save_every=job.setting("save_every") or every,
        patience=job.setting("patience"),
        minutes=job.setting("minutes"),
        is_lower_better=is_lower_better,
    )


def measure_loss(trainer: Any, names: Mapping[str, str]) -> dict[str, float]:
    """Return the loss of the dev rows, and the trainer's own measures by their `names` there.

    The trainer's `evaluate` would switch off the log of the step at hand.
    """
    import torch

    model = trainer.model
    was_training = model.training
    model.eval()
    total = weight = 0.0
    trainer._metrics["eval"].clear()
    for batch in trainer.get_eval_dataloader():
        batch.pop(ROW, None)
        inputs = trainer._prepare_inputs(batch)
        size = _weight(inputs)
        with torch.no_grad(), trainer.compute_loss_context_manager():
            loss = trainer.compute_loss(model, inputs)
        total += size * float(trainer.accelerator.gather(loss.detach()).mean())
        weight += size
    measures = {name: list(trainer._metrics["eval"].get(key, ())) for key, name in names.items()}
    trainer._metrics["eval"].clear()
    model.train(was_training)
    return {"loss": total / weight} | {
        name: sum(values) / len(values) for name, values in measures.items() if values
    }


def _weight(inputs: Mapping[str, Any]) -> float:
    """Count what a batch's loss is the mean of: trained tokens, or rows."""
    if "labels" in inputs:
        return float((inputs["labels"] != -100).sum())
    return float(len(inputs["input_ids"]))


def run_trainer(
    trainer: Any,
    job: Job,
    stopping: Stopping,
    log: Log,
    measure: Callable[[], dict[str, float]],
    *,
    has_row_ids: bool = True,
) -> None:
    """Measure the base, train to the end, and leave the best weights in the model."""
    if has_row_ids:
        trainer.data_collator = with_row_ids(trainer.data_collator)
    if not job.resume:
        log.write(step=0, dev=measure(), seconds=0.0)
    finish_training(trainer, job, stopping, log)


def step_of(job: Job) -> int:
    """Return the step of the checkpoint to go on from, 0 to begin."""
    return int(Path(job.resume).name.rpartition("-")[2]) if job.resume else 0


def is_first() -> bool:
    """Tell whether this process writes; of several, one for each GPU, the first does."""
    return os.environ.get("RANK", "0") == "0"


def open_log(job: Job) -> Log:
    """Open the run's log where its checkpoint ends."""
    return Log(job.log, from_step=step_of(job), is_writer=is_first())
