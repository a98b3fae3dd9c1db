"""Read the log of a starting server: its stage, and the reason of a failure.

Both are recognised by the words of vLLM 0.32 and llama.cpp; unknown lines are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_STAGES: Final = (
    (r"capturing (cuda )?graph|graph capturing", "capturing graphs"),
    (
        r"torch\.compile (takes|took)|warming up|dynamo bytecode|compiling (a |the )?graph",
        "compiling",
    ),
    (r"memory profiling|kv cache size:", "measuring memory"),
    (
        r"loading safetensors|starting to load model|load_tensors|loading weights took",
        "loading weights",
    ),
    (r"initializing a .*engine|initializing .*llm engine", "starting the engine"),
    (r"starting vllm (api )?server|uvicorn running|started server process", "opening the server"),
)
# vLLM prints its whole configuration, in which many of the words of _REASONS occur.
_CONFIGURATION: Final = re.compile(
    r"non-default args.*|engine \(v(?:(?!engine \(v|with config).)*+with config.*"
    r"|\[type=value_error, input_value=.*"
)
_REASONS: Final = (
    (
        r"out of memory|OutOfMemoryError|no available memory for the cache|larger than the"
        r" available KV cache|to serve at least one request|insufficient memory|bad_alloc|free"
        r" memory on device|available memory on node .* is less than|Cannot allocate memory",
        "there is not enough memory: lower --max-model-len, --max-num-seqs or --cpu-kv-cache-gib,"
        " choose a --quantization, or see `ragkit model plan`",
    ),
    (r"address already in use", "the address is taken: choose another --port"),
    (
        r"not a local folder|not a valid model identifier|LocalEntryNotFound|OfflineModeIsEnabled"
        r"|Repository Not Found|RepositoryNotFound|GatedRepo|couldn't connect to|Can't load the"
        r" configuration|Invalid repository|Repo id must|HFValidationError",
        "the model is not in the local cache and cannot be fetched: name its folder, or fetch it"
        " where there is a network",
    ),
    (
        r"contains custom code|to allow custom code",
        "the model comes with its own code: read it, then allow it with --trust-remote-code",
    ),
    (
        r"Cannot find any model weights",
        "there are no safetensors weights: convert the checkpoint, or choose one that has them",
    ),
    (
        r"architectures? .*(not supported|failed to be inspected)|unknown model architecture"
        r"|does not recognize this architecture|no vLLM implementation",
        "this engine does not know the model's architecture: upgrade it, or choose another model",
    ),
    (
        r"max_model_len \(\d+\) is greater than",
        "--max-model-len is above what the model was made for: lower it, or leave it out",
    ),
    (
        r"libcuda\.so|No CUDA GPUs are available|Found no NVIDIA driver|Failed to infer device"
        r" type",
        "this vLLM wants a GPU and sees none: check its driver, or install a build for CPUs",
    ),
    (
        r"LoRA rank .* is greater than|max_lora_rank",
        "an adapter's rank is above the allowed one: add -- --max-lora-rank N",
    ),
    (r"unrecognized arguments", "this vLLM does not know an option: see `ragkit model serve -h`"),
)
_ERROR = re.compile(r"\b(ERROR|error:|\w*Error:|\w*Exception:)|^\s+Value error,")
_EMPTY_ERRORS = re.compile(r"See root cause above|ValidationError: \d+ validation error")
_PREFIX = re.compile(r"^(\([^)]*pid=\d+\) )?(ERROR [\d-]+ [\d:]+ \[[^]]*\] )?")


def stage(line: str) -> str:
    """Return the stage that a line of the log announces, "" for other lines.

    >>> stage("INFO 11-21 [gpu_model_runner.py:3] Loading safetensors checkpoint shards")
    'loading weights'
    """
    return next((name for words, name in _STAGES if re.search(words, line, re.IGNORECASE)), "")


def reason(lines: Sequence[str]) -> str:
    """Return the reason of a failed start by its log: a known cause, else the last error."""
    messages = [_CONFIGURATION.sub("", line) for line in lines]
    for words, explanation in _REASONS:
        if any(re.search(words, line, re.IGNORECASE) for line in messages):
            return explanation
    errors = [line for line in messages if _ERROR.search(line) and not _EMPTY_ERRORS.search(line)]
    not_blank = [line for line in messages if line.strip()]
    if not not_blank:
        return "the log is empty"
    last = (errors or not_blank)[-1]
    return f"the log ends with: {_PREFIX.sub('', last).strip()[:300]}"
