"""Make docker's or podman's command for vLLM in a container.

The port is published on the chosen host address alone, folders are mounted read-only at the same
paths, and the key is passed by the name of its variable, so that no command line holds it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from ragkit.errors import ModelError, UsageError
from ragkit_models.serve import vllm
from ragkit_models.serve.options import Launch, ServeOptions

Gpu = Literal["", "nvidia", "amd"]

_INSIDE_PORT: Final = 8000
_CACHE: Final = "/root/.cache/huggingface"
_HUB: Final = ("HF_HUB_OFFLINE", "HF_TOKEN", "HF_ENDPOINT")  # passed on where they are set


def container_launch(
    image: str,
    options: ServeOptions,
    *,
    engine: Path,
    gpu: Gpu,
    inherited: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Launch:
    """Make the command that runs vLLM in a container; `engine` is docker or podman.

    Raises UsageError for a unix socket, which the container's root would own.
    """
    if options.unix_socket:
        raise UsageError("--unix-socket is not for a container: leave it out and use --port")
    variables = os.environ if inherited is None else inherited
    name = name or f"ragkit-{secrets.token_hex(4)}"
    inside = replace(options, host="0.0.0.0", port=_INSIDE_PORT)  # noqa: S104  inside the container
    plain = vllm.vllm_launch(
        inside, program=(), cpu=not gpu, version=image_version(image), inherited=variables
    )
    passed_on = [*plain.added, *(variable for variable in _HUB if variable in variables)]
    host = f"[{options.host}]" if ":" in options.host else options.host
    outside = vllm.vllm_launch(options, program=(), cpu=not gpu, inherited=variables)
    argv = (
        *(str(engine), "run", "--rm", "--init", "--name", name, "--ipc=host"),
        *("--publish", f"{host}:{options.port}:{_INSIDE_PORT}"),
        *_devices(gpu, engine),
        *(part for variable in passed_on for part in ("--env", variable)),
        *(part for mount in _mounts(options, variables) for part in ("--volume", mount)),
        *("--entrypoint", "python3", image, "-m", vllm.MODULE),
        *plain.argv,
    )
    return replace(outside, argv=argv, cleanup=(str(engine), "rm", "--force", name))


def image_version(image: str) -> tuple[int, ...]:
    """Read vLLM's version from an image's tag; () where the tag has none.

    >>> image_version("vllm/vllm-openai:v0.32.0-cu129")
    (0, 32)
    """
    match = re.search(r":v?(\d+)\.(\d+)", image)
    return (int(match[1]), int(match[2])) if match else ()


def find_container_engine() -> Path:
    """Find docker or podman on the PATH. Raises ModelError."""
    for name in ("docker", "podman"):
        if program := shutil.which(name):
            return Path(program)
    raise ModelError("neither docker nor podman is on the PATH: install one, or unset the image")


def find_gpu() -> Gpu:
    """Return the maker of this machine's GPU, by its driver's tools; "" without a GPU."""
    if shutil.which("nvidia-smi"):
        return "nvidia"
    return "amd" if shutil.which("rocm-smi") else ""


def _devices(gpu: Gpu, engine: Path) -> tuple[str, ...]:
    if gpu == "nvidia":
        return ("--device=nvidia.com/gpu=all",) if engine.name == "podman" else ("--gpus=all",)
    return ("--device=/dev/kfd", "--device=/dev/dri") if gpu == "amd" else ()


def _mounts(options: ServeOptions, environment: Mapping[str, str]) -> list[str]:
    adapters = [adapter.path for adapter in options.lora]
    paths = dict.fromkeys([options.model, *adapters, str(options.chat_template or "")])
    mounts = [f"{path}:{path}:ro" for path in paths if path and Path(path).exists()]
    cache = Path(environment.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    # Only if it exists: docker would make it root's.
    return [*mounts, *([f"{cache}:{_CACHE}"] if cache.is_dir() else [])]
