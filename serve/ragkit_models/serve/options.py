"""The options of serving a model, and the command that results from them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

KEY_VARIABLES: Final = ("VLLM_API_KEY", "API_KEY", "LLAMA_API_KEY")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A LoRA adapter: its name for clients, its folder or hub name, its rank."""

    name: str
    path: str
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of `ragkit model serve`; None leaves a choice to the engine.

    Clients use `name` as the model's name and present `key`. `max_num_queued_reqs` counts running
    and waiting requests together. `quantization` holds the engine's arguments for the chosen
    method, `extra` further arguments of the engine.
    """

    model: str
    name: str
    key: str = field(repr=False)
    host: str = "127.0.0.1"
    port: int = 8000
    unix_socket: Path | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_queued_reqs: int | None = None
    shutdown_timeout_s: int = 15
    gpu_memory_utilization: float | None = None
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    dtype: str | None = None
    kv_cache_dtype: str | None = None
    cpu_kv_cache_gib: int | None = None
    cpu_threads_bind: str | None = None
    lora: tuple[Adapter, ...] = ()
    speculative_ngram_tokens: int = 0
    structured_outputs: str | None = None
    reasoning_parser: str | None = None
    tool_call_parser: str | None = None
    chat_template: Path | None = None
    revision: str | None = None
    load_format: str = "safetensors"
    enforce_eager: bool = False
    trust_remote_code: bool = False
    quantization: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """A server's command line, environment and address.

    `program` is its name in messages. `ready_path` answers 200 once the model is loaded.
    `environment` is complete; `added` holds its variables that are not inherited. `cleanup` is a
    command that ends a container, which can outlive the process.
    """

    program: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    base_url: str
    ready_path: str
    key: str = field(repr=False)
    unix_socket: Path | None = None
    added: Mapping[str, str] = field(default_factory=dict, repr=False)
    cleanup: tuple[str, ...] = ()

    def shown_environment(self) -> dict[str, str]:
        """Return the added variables with the key masked."""
        return {k: "***" if k in KEY_VARIABLES else v for k, v in sorted(self.added.items())}

    def shown(self) -> str:
        """Write the command for a shell, with the key masked."""
        variables = [
            f"{name}={'***' if name in KEY_VARIABLES else shlex.quote(value)}"
            for name, value in self.shown_environment().items()
        ]
        return " ".join([*variables, shlex.join(self.argv)])


def base_url(host: str, port: int) -> str:
    """Write the base URL of a server for its clients.

    >>> base_url("::1", 8000)
    'http://[::1]:8000/v1'
    """
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"
