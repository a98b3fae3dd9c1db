"""What a starting server's log says: how far it is, and why it failed.

Read from the words that vLLM 0.32 and llama.cpp use; unknown words are shown as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_STAGES: Final = (
    (r"capturing (cuda )?graph|graph capturing", "capturing graphs"),
    (r"torch\.compile|compil(ing|ation)", "compiling"),
    (r"memory profiling|kv cache size|kv_cache", "measuring memory"),
    (r"loading (safetensors|weights|model)|load_tensors|model loading", "loading weights"),
    (r"initializing .*engine|initializing .*llm", "starting the engine"),
    (r"starting vllm|uvicorn running|started server process", "opening the server"),
)
_REASONS: Final = (
    (
        r"out of memory|OutOfMemoryError|No available memory for the cache|larger than the"
        r" available KV cache|to serve at least one request|insufficient memory|bad_alloc|Free"
        r" memory on device",
        "there is not enough memory: lower --max-model-len or --max-num-seqs, choose a"
        " --quantization, or see `ragkit model plan`",
    ),
    (r"address already in use", "the address is taken: choose another --port"),
    (
        r"not a local folder|not a valid model identifier|LocalEntryNotFound|OfflineModeIsEnabled"
        r"|Repository Not Found|couldn't connect to|Can't load the configuration|Invalid repository"
        r"|Repo id must",
        "the model is not in the local cache and cannot be fetched: name its folder, or fetch it"
        " where there is a network",
    ),
    (
        r"trust_remote_code|trust-remote-code",
        "the model brings code of its own: read it, then allow it with --trust-remote-code",
    ),
    (
        r"Cannot find any model weights|No such file.*safetensors|no .*safetensors",
        "there are no safetensors weights: convert the checkpoint, or choose one that has them",
    ),
    (
        r"architectures? .*(not supported|failed to be inspected)|unknown model architecture"
        r"|does not recognize this architecture",
        "this engine does not know the model's architecture: upgrade it, or choose another model",
    ),
    (r"unrecognized arguments", "this vLLM does not know an option: see `ragkit model serve -h`"),
)
_ERROR = re.compile(r"\b(ERROR|error:|Error\b|\w+Error:|Exception)")


def stage(line: str) -> str:
    """Return how far the server is, "" for a line that does not say.

    >>> stage("INFO 11-21 [gpu_model_runner.py:3] Loading safetensors checkpoint shards")
    'loading weights'
    """
    return next((name for words, name in _STAGES if re.search(words, line, re.IGNORECASE)), "")


def reason(lines: Sequence[str]) -> str:
    """Explain a failed start by the last lines of its log: a known cause, or the last error."""
    for words, said in _REASONS:
        if any(re.search(words, line, re.IGNORECASE) for line in lines):
            return said
    errors = [line for line in lines if _ERROR.search(line)]
    last = (errors or list(lines) or ["it said nothing"])[-1].strip()
    return f"the log ends with: {last[-300:]}"
