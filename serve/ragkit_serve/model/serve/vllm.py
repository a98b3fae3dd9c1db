"""vLLM's OpenAI server for a RAG load: from options to its command line and environment.

The options' names are those of vLLM 0.32. It starts nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ragkit_serve.model.serve.options import Launch, ServeOptions

MODULE: Final = "vllm.entrypoints.openai.api_server"

# Long prompts that share their beginning, short answers: the beginning is kept (on by default
# since vLLM 0.8, said all the same), and long prompts do not hold up running answers.
_RAG: Final = (
    "--enable-prefix-caching",
    "--enable-chunked-prefill",
    "--enable-prompt-tokens-details",  # usage tells how much came from the prefix cache
    "--no-enable-log-requests",  # questions are private
    "--disable-uvicorn-access-log",
)
_PRIVATE: Final = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


def vllm_launch(
    options: ServeOptions,
    *,
    program: tuple[str, ...],
    cpu: bool,
    inherited: Mapping[str, str] | None = None,
) -> Launch:
    """Make vLLM's command; `program` runs its module, as in (python, "-m", MODULE).

    >>> options = ServeOptions(model="m", name="m", key="k", port=9000)
    >>> vllm_launch(options, program=("python", "-m", MODULE), cpu=False, inherited={}).base_url
    'http://127.0.0.1:9000/v1'
    """
    added = _PRIVATE | {"VLLM_API_KEY": options.key}
    if cpu:
        added["VLLM_CPU_KVCACHE_SPACE"] = str(options.cpu_kv_cache_gib or _cpu_cache_gib())
    return Launch(
        argv=(*program, *arguments(options)),
        environment={**(os.environ if inherited is None else inherited), **added},
        base_url=f"http://{_in_url(options.host)}:{options.port}/v1",
        ready_path="/health",
        key=options.key,
        unix_socket=options.unix_socket,
        added=added,
    )


def arguments(options: ServeOptions) -> list[str]:
    """Return vLLM's arguments; the key is none of them, because every user sees those."""
    where = (
        ["--uds", str(options.unix_socket)]
        if options.unix_socket
        else ["--host", options.host, "--port", str(options.port)]
    )
    valued = {
        "--max-num-queued-reqs": options.max_num_queued_reqs,
        "--shutdown-timeout": options.shutdown_timeout_s,
        "--max-model-len": options.max_model_len,
        "--max-num-seqs": options.max_num_seqs,
        "--gpu-memory-utilization": options.gpu_memory_utilization,
        "--tensor-parallel-size": _several(options.tensor_parallel_size),
        "--pipeline-parallel-size": _several(options.pipeline_parallel_size),
        "--dtype": options.dtype,
        "--kv-cache-dtype": options.kv_cache_dtype,
        "--reasoning-parser": options.reasoning_parser,
        "--tool-call-parser": options.tool_call_parser,
        "--chat-template": options.chat_template,
        "--revision": options.revision,
    }
    return [
        *("--model", options.model, "--served-model-name", options.name),
        *where,
        *_RAG,
        *_load_format(options),
        *(
            part
            for name, value in valued.items()
            if value is not None
            for part in (name, str(value))
        ),
        *(["--enable-auto-tool-choice"] if options.tool_call_parser else []),
        *(["--enforce-eager"] if options.enforce_eager else []),
        *(["--trust-remote-code"] if options.trust_remote_code else []),
        *_lora(options),
        *_json_options(options),
        *options.quantization,
        *options.extra,
    ]


def _load_format(options: ServeOptions) -> list[str]:
    """Load safetensors only: a pickled checkpoint runs whatever it holds."""
    named = (*options.quantization, *options.extra)
    return [] if "--load-format" in named else ["--load-format", "safetensors"]


def _lora(options: ServeOptions) -> list[str]:
    if not options.lora:
        return []
    adapters = [f"{name}={path}" for name, path in options.lora.items()]
    rank = ["--max-lora-rank", str(options.max_lora_rank)] if options.max_lora_rank else []
    return [
        *("--enable-lora", "--max-loras", str(len(adapters))),
        *rank,
        *("--lora-modules", *adapters),
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


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def container_program(
    image: str, options: ServeOptions, *, engine: Path, gpu: bool
) -> tuple[str, ...]:
    """Return the beginning of a command that runs vLLM in a container, the key by variable name.

    The port is published on the host's loopback address alone, a model's folder mounted read-only
    at its own path, and so is the hub's cache.
    """
    cache = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    mounts = [folder for folder in (options.model, *options.lora.values()) if Path(folder).is_dir()]
    return (
        *(str(engine), "run", "--rm", "--ipc=host", "--publish"),
        f"{options.host}:{options.port}:{options.port}",
        *(["--gpus=all"] if gpu else []),
        *(part for name in (*_PRIVATE, "VLLM_API_KEY") for part in ("--env", name)),
        *("--volume", f"{cache}:/root/.cache/huggingface"),
        *(
            part
            for folder in mounts
            for part in ("--volume", f"{_whole(folder)}:{_whole(folder)}:ro")
        ),
        *("--entrypoint", "python3", image, "-m", MODULE),
    )


def _whole(folder: str) -> str:
    return str(Path(folder).resolve())
