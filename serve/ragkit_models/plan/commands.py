"""Write the commands that serve a row of a plan."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from ragkit.model_size.hardware import GIB
from ragkit_models.plan.fit import Plan, Row

# The schemes of `ragkit model quantize`, and those that vLLM makes while loading.
_QUANTIZED = {"w8a8": "w8a8", "w4a16": "w4a16"}
_WHILE_LOADING = frozenset({"fp8", "bitsandbytes"})


def commands(model: str, row: Row, plan: Plan) -> tuple[str, ...]:
    """Write the commands: one, or two where a quantized checkpoint must be made first."""
    scheme = row.scheme
    if scheme.llamacpp:
        return _gguf_commands(model, scheme.name.removeprefix("gguf "), plan)
    if not scheme.stored and scheme.name in _QUANTIZED:
        output = _QUANTIZED[scheme.name]
        folder = f"{PurePath(model).name}-{output}"
        first = f"ragkit model quantize {shlex.quote(model)} --scheme {output} --calibration FILE"
        return (first, " ".join(["ragkit model serve", shlex.quote(folder), *flags(row, plan)]))
    return (" ".join(["ragkit model serve", shlex.quote(model), *flags(row, plan)]),)


def _gguf_commands(model: str, file_type: str, plan: Plan) -> tuple[str, str]:
    output = f"gguf-{file_type.lower()}"
    name = PurePath(model).name
    file = f"{name}-{output}/{name}-{file_type}.gguf"
    made = f"ragkit model quantize {shlex.quote(model)} --scheme {output} --llamacpp DIR"
    served = f"ragkit model serve {shlex.quote(file)} --engine llamacpp"
    return made, f"{served} --max-model-len {plan.context}"


def flags(row: Row, plan: Plan) -> list[str]:
    """Return vLLM's options for a row, each with its value."""
    target, scheme = plan.target, row.scheme
    parts = [f"--max-model-len {plan.context}", f"--max-num-seqs {target.concurrency}"]
    if scheme.name in _WHILE_LOADING and not scheme.stored:
        parts.append(f"--quantization {scheme.name}")
    if target.fp8_cache:
        parts.append("--kv-cache-dtype fp8")
    if target.on_gpu:
        parts.append(f"--gpu-memory-utilization {plan.share:g}")
    else:
        parts.append(f"--cpu-kv-cache-gib {max(1, -(-row.cache // GIB))}")
    if target.gpus > 1:
        parts.append(f"--tensor-parallel-size {target.gpus}")
    return parts
