"""Train three steps with the longest rows, as a separate program: `python probe.py JOB.json`.

It measures what a plan estimates: the peak of memory, and the seconds of a step. The rows are
random tokens of the given lengths, so it reads no data; it imports nothing of ragkit.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any


def main(job_file: str) -> None:
    """Run a job; write {"peak_bytes", "start_bytes", "seconds"} beside it as result.json.

    The job: {"kind", "base", "passes": [[sequences, tokens], ...], "precision", "parameters",
    "rank", "bits", "optimizer", "checkpointing", "cached", "wide_frozen", "micro_batch",
    "accumulation", "on_gpu", "steps"}.
    `passes` are the forward passes of a micro-batch; all of them are in memory until the backward
    pass, except with a cached loss.
    """
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    import torch

    device = "cuda" if job["on_gpu"] else "cpu"
    if job["on_gpu"] and not torch.cuda.is_available():
        sys.exit("RuntimeError: this Python sees no GPU")
    torch.manual_seed(0)
    _warm_up(device)
    _say("loading the model")
    start_bytes = _resident_bytes()
    model = _load(job, device)
    step = _step(model, job, device)
    _reset_peak(device)
    seconds = []
    for n in range(job["steps"]):
        begin = time.perf_counter()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
        _say(f"step {n + 1} of {job['steps']}: {seconds[-1]:.2f} s")
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else _peak_bytes() - start_bytes
    result = {"peak_bytes": peak, "start_bytes": start_bytes, "seconds": seconds}
    Path(job_file).with_name("result.json").write_text(json.dumps(result), encoding="utf-8")


def _load(job: dict[str, Any], device: str) -> Any:
    """Load the base with the parameters that the recipe trains."""
    import torch
    import transformers

    family, extra = {
        "embedder": (transformers.AutoModel, {}),
        "adapter": (transformers.AutoModelForCausalLM, {}),
    }.get(job["kind"], (transformers.AutoModelForSequenceClassification, {"num_labels": 1}))
    full = job["parameters"] == "full"
    wide = full or job["wide_frozen"] or job["precision"] == "fp32"
    if job["bits"] < 16:
        extra |= {"quantization_config": _quantization(job["bits"])}
    model = family.from_pretrained(
        job["base"],
        dtype=torch.float32 if wide else torch.bfloat16,
        use_safetensors=True,
        trust_remote_code=False,
        device_map={"": device},
        **extra,
    )
    model.config.use_cache = False
    if getattr(model.config, "pad_token_id", None) is None:
        model.config.pad_token_id = 0
    if job["checkpointing"]:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if not full:
        from peft import LoraConfig, get_peft_model

        if job["checkpointing"]:
            model.enable_input_require_grads()
        model = get_peft_model(model, LoraConfig(r=job["rank"], target_modules="all-linear"))
        for weights in model.parameters():
            if weights.requires_grad:
                weights.data = weights.data.float()
    return model.train()


def _quantization(bits: int) -> Any:
    import torch
    import transformers

    make: Any = transformers.BitsAndBytesConfig
    if bits == 8:
        return make(load_in_8bit=True)
    return make(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)


def _step(model: Any, job: dict[str, Any], device: str) -> Callable[[], None]:
    """Return a step of the optimizer: forward and backward passes of all micro-batches."""
    import torch

    trained = [weights for weights in model.parameters() if weights.requires_grad]
    if job["optimizer"] == "adamw-8bit":
        from importlib import import_module

        optimizer: Any = import_module("bitsandbytes").optim.AdamW8bit(trained, lr=1e-5)
    else:
        optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=True)
    vocabulary = int(model.config.get_text_config().vocab_size)
    batches = [
        torch.randint(min(10, vocabulary - 1), vocabulary, tuple(size), device=device)
        for size in job["passes"]
    ]
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(job["precision"])
    backward = _cached_backward if job["cached"] else _backward

    def step() -> None:
        for _ in range(job["accumulation"]):
            with torch.autocast(device, half) if half else nullcontext():
                backward(model, batches, job)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def _backward(model: Any, batches: list[Any], job: dict[str, Any]) -> None:
    import torch
    from torch.nn import functional

    if job["kind"] == "embedder":
        _contrastive(torch.cat([_embedded(model, ids) for ids in batches]), batches).backward()
    elif job["kind"] == "adapter":
        losses = [model(input_ids=ids, attention_mask=_mask(ids), labels=ids) for ids in batches]
        sum(answer.loss for answer in losses).backward()
    else:
        logits = [model(input_ids=ids, attention_mask=_mask(ids)).logits for ids in batches]
        scores = torch.cat(logits).flatten().float()
        loss: Any = functional.binary_cross_entropy_with_logits(scores, torch.ones_like(scores))
        loss.backward()


def _cached_backward(model: Any, batches: list[Any], job: dict[str, Any]) -> None:
    """Embed without gradients, and again in parts with them (GradCache, arXiv:2101.06983)."""
    import torch

    size = job["micro_batch"]
    parts = [part for ids in batches for part in ids.split(size)]
    with torch.no_grad():
        vectors: Any = torch.cat([_embedded(model, part) for part in parts]).requires_grad_()
    _contrastive(vectors, batches).backward()
    gradients = vectors.grad.split([len(part) for part in parts])
    for part, gradient in zip(parts, gradients, strict=True):
        _embedded(model, part).backward(gradient)


def _embedded(model: Any, ids: Any) -> Any:
    """Return vectors of length 1: the means of the tokens' vectors, as sentence-transformers."""
    from torch.nn import functional

    mask = _mask(ids)
    hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weights = mask.unsqueeze(-1).expand(hidden.size()).to(hidden.dtype)
    return functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)


def _contrastive(vectors: Any, batches: list[Any]) -> Any:
    """Return the loss of queries, the first batch, against the passages of all others."""
    import torch
    from torch.nn import functional

    queries, passages = vectors.split([len(batches[0]), len(vectors) - len(batches[0])])
    scores = 20.0 * queries.float() @ (passages if len(passages) else queries).float().T
    return functional.cross_entropy(scores, torch.arange(len(queries), device=scores.device))


def _mask(ids: Any) -> Any:
    """Return a mask with one padded place, so that no path without masks is taken."""
    import torch

    mask = torch.ones_like(ids)
    mask[0, -1] = 0
    return mask


def _warm_up(device: str) -> None:
    """Load libraries and their code, so that none of it is counted as the model's memory."""
    import peft
    import torch
    import transformers
    from torch.nn import functional

    assert transformers
    assert peft
    layer = torch.nn.Linear(64, 64, device=device)
    heads = layer(torch.randn(2, 4, 8, 64, device=device))
    total: Any = functional.scaled_dot_product_attention(heads, heads, heads).sum()
    total.backward()
    torch.optim.AdamW(layer.parameters(), fused=True).step()


def _resident_bytes() -> int:
    return _status("VmRSS")


def _peak_bytes() -> int:
    return _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


def _reset_peak(device: str) -> None:
    """Forget the peak of loading, during which a file and its copy are in memory."""
    if device == "cuda":
        import torch

        torch.cuda.reset_peak_memory_stats()
    else:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # proc(5)


def _say(stage: str) -> None:
    sys.stdout.write(f"stage: {stage}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
