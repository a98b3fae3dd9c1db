"""What the workers that train language models share: the base, its trained part, the run.

It knows nothing of losses: each worker brings its trainer, and the rows as that reads them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from checkpoints import WholeCheckpoints
from guard import ROW, RowsOfStep
from job import Job, Log, StopError
from language_model_rows import Encoder, load_tokenizer, stop_tokens
from language_model_write import write_result
from training import (
    arguments,
    dataset_of,
    divisor,
    finish_training,
    is_first,
    make_trainer,
    open_log,
    precision_of,
    total_steps,
    whole_batch,
)

CAUSAL: Final = "CAUSAL_LM"
SCORING: Final = "SEQ_CLS"
_FAMILIES: Final = {
    CAUSAL: "AutoModelForCausalLM",
    SCORING: "AutoModelForSequenceClassification",
}
Columns = dict[str, list[Any]]


def open_run(job: Job) -> tuple[Log, Encoder]:
    """Open a run's log, and what encodes its rows by the base's tokenizer."""
    log = open_log(job)
    log.tell("stage: reading the rows")
    tokenizer = load_tokenizer(job.base)
    return log, Encoder(tokenizer, stop_tokens(job.base, tokenizer), job.setting("max_tokens"))


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
        pad = load_tokenizer(job.base).pad_token_id  # fills up rows of a batch
        model.config.get_text_config().pad_token_id = int(pad)
    return model


def _quantized(job: Job, dtype: Any) -> dict[str, Any]:
    from importlib.util import find_spec

    import torch
    import transformers

    bits = job.setting("bits")
    if find_spec("bitsandbytes") is None or not torch.cuda.is_available():
        raise StopError(
            f"bits {bits} needs bitsandbytes and a CUDA GPU: pip install bitsandbytes on a machine"
            " that has one, or set -o bits=16"
        )
    if job.setting("parameters") == "full":
        raise StopError(f"bits {bits} cannot train all weights: set -o parameters=lora")
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


def make_model(job: Job, task: str) -> Any:
    """Load the base with what is trained of it, as the trainer makes it."""
    from peft import get_peft_model

    model, part = load_base(job, task), trained_part(job, task)
    return model if part is None else get_peft_model(model, part)


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


def trainer_arguments(job: Job, rows: int, micro_batch: int) -> dict[str, Any]:
    """Return the arguments that all of TRL's trainers take, for so many rows. Raises StopError."""
    import torch

    per_gpu = whole_batch(job, rows) // job.setting("gpus")
    at_once = divisor(per_gpu, micro_batch)
    checkpointing = job.setting("checkpointing")
    is_on = checkpointing == "on" or (checkpointing == "auto" and torch.cuda.is_available())
    if is_on and job.setting("parameters") == "prefix":
        if checkpointing == "on":
            raise StopError(
                "prefixes cannot be trained with checkpointing: set -o checkpointing=off"
            )
        is_on = False
    common = arguments(job, total_steps(job, rows), at_once, per_gpu // at_once)
    return common | {
        "activation_checkpointing": is_on,  # TRL's default is on
        "per_device_eval_batch_size": at_once,
    }


def guarded(base: type) -> Any:
    """Make a class of TRL's trainers for `make_model_trainer`; it writes no card, tells nobody."""

    class GuardedTrainer(RowsOfStep, WholeCheckpoints, base):  # type: ignore[misc, valid-type]
        def create_model_card(self, *arguments: Any, **options: Any) -> None:
            """Write no card: ragkit writes one."""

        def _send_telemetry(self) -> None:
            """Send nothing."""

    return GuardedTrainer


def make_model_trainer(
    kind: Any,
    job: Job,
    log: Log,
    tokenizer: Any,
    steps: int,
    measure: Callable[[Any], dict[str, float]],
    *,
    task: str = CAUSAL,
    decides: str = "loss",
    **options: Any,
) -> Any:
    """Load the base into a trainer of a class of `guarded`. `measure` takes the trainer."""
    log.tell("stage: loading the model")
    trainer = make_trainer(
        kind,
        job,
        log,
        steps,
        lambda _: measure(trainer),
        decides=decides,
        model=load_base(job, task),
        processing_class=tokenizer,
        peft_config=trained_part(job, task),
        **options,
    )
    return trainer


def train_on_rows(
    base: type,
    args: Any,
    rows: tuple[Columns, Columns],
    measures: Mapping[str, str],
    *,
    job: Job,
    log: Log,
    tokenizer: Any,
    compared: Sequence[int],
    task: str = CAUSAL,
    **options: Any,
) -> None:
    """Train to the end by one of TRL's trainers and write the result.

    `rows` are those of train and dev as the trainer's collator reads them. `measures` names the
    trainer's own measures of dev rows, beside their loss. `compared` are the tokens of a text that
    the written model is compared by.
    """
    trainer = make_model_trainer(
        guarded(base),
        job,
        log,
        tokenizer,
        total_steps(job, len(rows[0]["row"])),
        lambda trainer: measure_loss(trainer, measures),
        task=task,
        args=args,
        train_dataset=dataset_of(rows[0]),
        eval_dataset=dataset_of(rows[1]),
        **options,
    )
    finish_training(trainer, lambda: make_model(job, task))
    if is_first():
        write_result(job, trainer, tokenizer, compared, task, log)


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
