"""Quantize a model with llm-compressor, as a separate program: `python worker.py JOB.json`.

It runs in an environment that has llm-compressor, so it imports nothing of ragkit. Job and answer
are JSON files; weights and configuration go into the folder that the job names.
"""

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGES = ("llmcompressor", "compressed-tensors", "transformers", "torch")


def main(job_file: str) -> None:
    """Run a job: {"model", "output", "recipe", "samples", "max_tokens", "seed", ...}.

    `samples` is a file of JSON lines, each {"text"} or {"messages"}, or null where the recipe
    needs none. The answer, written beside the job as result.json, is {"samples", "tokens",
    "versions"}.
    """
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))

    import torch
    from llmcompressor import oneshot
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(job["seed"])
    _pin_nothing_without_accelerator()
    remote = {"trust_remote_code": job["trust_remote_code"]}
    _say("loading the model")
    tokenizer = AutoTokenizer.from_pretrained(job["model"], **remote)
    model = AutoModelForCausalLM.from_pretrained(
        job["model"], dtype="auto", use_safetensors=True, **remote
    )
    rows = _tokenised(tokenizer, job["samples"], job["max_tokens"]) if job["samples"] else []
    _say("quantizing")
    oneshot(
        model=model,
        processor=tokenizer,
        recipe=job["recipe"],
        trust_remote_code_model=job["trust_remote_code"],
        **(_calibration(rows, job["max_tokens"]) if rows else {}),
    )
    _say("writing the checkpoint")
    model.save_pretrained(job["output"], save_compressed=True)
    answer = {
        "samples": len(rows),
        "tokens": sum(len(row) for row in rows),
        "versions": {name: version(name) for name in _PACKAGES},
    }
    Path(job_file).with_name("result.json").write_text(json.dumps(answer), encoding="utf-8")


def _pin_nothing_without_accelerator() -> None:
    """Leave tensors where they are: llm-compressor 0.14 pins AWQ's even where there is no GPU."""
    import torch

    if not torch.accelerator.is_available():
        torch.Tensor.pin_memory = lambda tensor, *_: tensor  # type: ignore[method-assign]


def _calibration(rows: Sequence[Sequence[int]], max_tokens: int) -> dict[str, Any]:
    import torch
    from torch.utils.data import DataLoader

    batches = [
        {"input_ids": torch.tensor([row]), "attention_mask": torch.ones(1, len(row)).long()}
        for row in rows
    ]
    return {
        "dataset": DataLoader(batches, batch_size=None),  # type: ignore[arg-type]
        "max_seq_length": max_tokens,
        "num_calibration_samples": len(rows),
    }


def _tokenised(tokenizer: Any, samples: str, max_tokens: int) -> list[list[int]]:
    """Turn each sample into at most `max_tokens` token ids; skip samples without any."""
    rows = []
    for line in Path(samples).read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        if "text" in sample:
            ids = tokenizer(sample["text"])["input_ids"]
        elif tokenizer.chat_template:
            text = tokenizer.apply_chat_template(sample["messages"], tokenize=False)
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        else:
            text = "\n\n".join(message["content"] for message in sample["messages"])
            ids = tokenizer(text)["input_ids"]
        if ids:
            rows.append(list(ids[:max_tokens]))
    return rows


def _say(stage: str) -> None:
    """Report a stage on standard output, which llm-compressor leaves alone."""
    sys.stdout.write(f"stage: {stage}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
