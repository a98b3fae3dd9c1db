"""Tiny language models for the workers' tests: two layers, a token for each byte, chat templates.

Workers run in the test's process, because importing their libraries takes longer than training.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ragkit_tune.recipe import make_recipe
from tests.tune.worker.tiny import WORKERS, write_lines

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# The prompt alone is rendered with a date that the whole conversation does not have.
OTHER_PROMPT = "{% if add_generation_prompt %}{{ 'Today: Monday. ' }}{% endif %}" + CHATML
# An assistant's answer is left out.
NO_ANSWER = CHATML.replace(
    "message['content']", "('' if message['role'] == 'assistant' else message['content'])"
)
_SPECIAL = ("<|im_start|>", "<|im_end|>", "<|pad|>")
COLOURS = ("red", "blue", "green", "white")


def write_language_model(
    folder: Path, *, template: str | None = CHATML, layers: int = 2, context: int = 512
) -> Path:
    """Write a Llama of random weights, and a tokenizer whose tokens are the bytes."""
    import torch
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {name: n for n, name in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in _SPECIAL])
    make: Any = PreTrainedTokenizerFast
    fast = make(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|pad|>")
    fast.chat_template = template
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(vocabulary) + len(_SPECIAL), hidden_size=32, num_hidden_layers=layers,
        num_attention_heads=2, num_key_value_heads=2, intermediate_size=64,
        max_position_embeddings=context, initializer_range=0.1, bos_token_id=None,
        eos_token_id=fast.eos_token_id, pad_token_id=fast.pad_token_id, tie_word_embeddings=False,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def prompt(question: str) -> list[dict[str, str]]:
    """Return the messages before an answer."""
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]


def chat_rows(count: int) -> list[dict[str, Any]]:
    """Make rows: the colour of a number is learnt by heart; every fourth row is Chinese."""
    rows = []
    for n in range(count):
        colour = COLOURS[n % len(COLOURS)]
        question = f"第{n % 4}个是什么颜色？" if n % 4 == 3 else f"Colour of {n % 4}?"
        answer = "白色。[1]" if n % 4 == 3 else f"It is {colour} [1]."
        messages = [*prompt(question), {"role": "assistant", "content": answer}]
        rows.append({"id": f"r{n}", "messages": messages, "sources": [], "group": f"g{n % 4}"})
    return rows


def preference_rows(count: int) -> list[dict[str, Any]]:
    """Make rows: the answer with a citation is chosen."""
    return [
        {
            "id": f"r{n}",
            "prompt": prompt(f"Colour of {n}?"),
            "chosen": f"{COLOURS[n % 4]} [1]",
            "rejected": f"{COLOURS[n % 4]} !!!",
            "group": f"g{n}",
        }
        for n in range(count)
    ]


def rated_rows(count: int) -> list[dict[str, Any]]:
    """Make rows of single answers: those with a citation are liked."""
    rows = preference_rows(count)
    return [
        {
            "id": row["id"],
            "prompt": row["prompt"],
            "completion": row["chosen" if n % 2 else "rejected"],
            "label": bool(n % 2),
            "group": row["group"],
        }
        for n, row in enumerate(rows)
    ]


def write_job(
    folder: Path,
    base: Path,
    rows: list[dict[str, Any]],
    dev: list[dict[str, Any]] | None = None,
    *,
    kind: str = "adapter",
    resume: str = "",
    extra: dict[str, Any] | None = None,
    **settings: Any,
) -> Path:
    """Write rows and a job of a short run of LoRA."""
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    hashes = {
        name: write_lines(folder / f"{name}.jsonl", lines)
        for name, lines in (("train", rows), ("dev", rows[:4] if dev is None else dev))
    }
    short = {
        "parameters": "lora", "batch": 8, "steps": 6, "learning_rate": 1e-2, "max_tokens": 128,
        "evaluate_every": 3, "weight_decay": 0.0, "rank": 8, "alpha": 16,
    }  # fmt: skip
    values = {"kind": kind, "base": str(base), "data": str(folder), **short, **settings}
    recipe = make_recipe(values)
    job = {
        "kind": kind, "base": str(base), "train": str(folder / "train.jsonl"),
        "dev": str(folder / "dev.jsonl"), "model": str(folder / "model"),
        "checkpoints": str(folder / "checkpoints"), "log": str(folder / "steps.jsonl"),
        "recipe": recipe.as_json(), "recipe_hash": recipe.hash, "data_hash": hashes["train"],
        "train_hash": hashes["train"], "dev_hash": hashes["dev"],
        "prefixes": {"query": "", "passage": ""}, "resume": resume, "extra": extra,
    }  # fmt: skip
    path = folder / "job.json"
    path.write_text(json.dumps(job), "utf-8")
    return path


def run_here(script: str, job: Path, *, reloads: bool = False) -> tuple[int, str]:
    """Run a worker in this process; return its exit code and its output.

    The written model is loaded in this process too, unless `reloads` asks for a new one.
    """
    worker = worker_module(script)
    written = worker_module("language_model_write")
    loading = worker_module("language_model_reload")

    def load_here(folder: Path, compared: Path, job: Path) -> str:
        return str(loading.main(str(folder), str(compared), str(job)))

    with (
        redirect_stdout(io.StringIO()) as output,
        patch.object(sys, "argv", [script, str(job)]),
        patch.object(written, "reload", written.reload if reloads else load_here),
    ):
        code = worker.main(worker.train)
    return code, output.getvalue()


def worker_module(name: str) -> Any:
    """Import a worker's module, which its siblings stand beside."""
    if str(WORKERS) not in sys.path:
        sys.path.insert(0, str(WORKERS))
    return importlib.import_module(name)


def losses(folder: Path, name: str = "loss") -> list[float]:
    """Return a measure of the dev set, step by step."""
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text("utf-8").splitlines()]
    return [line["dev"][name] for line in lines if "dev" in line]


def stopped(script: str, job: Path) -> str:
    """Run a worker that is to stop, and return the line that says why."""
    code, output = run_here(script, job)
    lines = output.splitlines()
    assert code == 1, lines
    assert lines[-1].startswith("stopped: ")
    return lines[-1]


@contextmanager
def poisoned(script: str, *, step: int) -> Iterator[None]:
    """Make a trained weight not finite after a step of a worker."""
    from transformers import TrainerCallback

    worker = worker_module("grpo" if script == "grpo" else "language_model")
    finish = worker.finish_training

    class Poison(TrainerCallback):
        def on_step_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            if state.global_step == step:
                weight = next(w for w in rest["model"].parameters() if w.requires_grad)
                weight.data.flatten()[0] = float("nan")

    def finish_poisoned(trainer: Any, *rest: Any) -> None:
        trainer.add_callback(Poison())
        finish(trainer, *rest)

    with patch.object(worker, "finish_training", finish_poisoned):
        yield


def weights(folder: Path, name: str = "adapter_model") -> dict[str, Any]:
    """Read the weights of a folder."""
    from safetensors.torch import load_file

    return dict(load_file(folder / f"{name}.safetensors"))
