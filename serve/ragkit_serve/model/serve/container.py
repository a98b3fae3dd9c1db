"""vLLM in a container: docker's or podman's command around vLLM's own. It starts nothing.

The port is published on the chosen host address alone, folders are mounted read-only at their own
paths, and the key goes in by its variable's name, so that no command line holds it.
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
from ragkit_serve.model.serve import vllm
from ragkit_serve.model.serve.options import Launch, ServeOptions

Gpu = Literal["", "nvidia", "amd"]

_INSIDE_PORT: Final = 8000
_CACHE: Final = "/root/.cache/huggingface"
_HUB: Final = ("HF_HUB_OFFLINE", "HF_TOKEN", "HF_ENDPOINT")  # handed on where they are set


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

    Raises UsageError for a unix socket, which would belong to the container's root.
    """
    if options.unix_socket:
        raise UsageError("--unix-socket is not for a container: leave it out and use --port")
    rest = os.environ if inherited is None else inherited
    name = name or f"ragkit-{secrets.token_hex(4)}"
    inside = replace(options, host="0.0.0.0", port=_INSIDE_PORT)  # noqa: S104  inside the container
    plain = vllm.vllm_launch(
        inside, program=(), cpu=not gpu, version=image_version(image), inherited=rest
    )
    handed_on = [*plain.added, *(one for one in _HUB if one in rest)]
    host = f"[{options.host}]" if ":" in options.host else options.host
    outside = vllm.vllm_launch(options, program=(), cpu=not gpu, inherited=rest)
    argv = (
        *(str(engine), "run", "--rm", "--init", "--name", name, "--ipc=host"),
        *("--publish", f"{host}:{options.port}:{_INSIDE_PORT}"),
        *_devices(gpu, engine),
        *(part for one in handed_on for part in ("--env", one)),
        *(part for one in _mounts(options, rest) for part in ("--volume", one)),
        *("--entrypoint", "python3", image, "-m", vllm.MODULE),
        *plain.argv,
    )
    return replace(outside, argv=argv, cleanup=(str(engine), "rm", "--force", name))


def image_version(image: str) -> tuple[int, ...]:
    """Read vLLM's version from an image's tag; () where the tag does not tell.

    >>> image_version("vllm/vllm-openai:v0.32.0-cu129")
    (0, 32)
    """
    found = re.search(r":v?(\d+)\.(\d+)", image)
    return (int(found[1]), int(found[2])) if found else ()


def find_container_engine() -> Path:
    """Find docker or podman on the PATH. Raises ModelError."""
    for name in ("docker", "podman"):
        if found := shutil.which(name):
            return Path(found)
    raise ModelError("neither docker nor podman is on the PATH: install one, or unset the image")


def find_gpu() -> Gpu:
    """Tell whose GPU this machine has, by its driver's tools."""
    if shutil.which("nvidia-smi"):
        return "nvidia"
    return "amd" if shutil.which("rocm-smi") else ""


def _devices(gpu: Gpu, engine: Path) -> tuple[str, ...]:
    if gpu == "nvidia":
        return ("--device=nvidia.com/gpu=all",) if engine.name == "podman" else ("--gpus=all",)
    return ("--device=/dev/kfd", "--device=/dev/dri") if gpu == "amd" else ()


def _mounts(options: ServeOptions, environment: Mapping[str, str]) -> list[str]:
    named = [options.model, *(one.path for one in options.lora), str(options.chat_template or "")]
    mounts = [f"{one}:{one}:ro" for one in dict.fromkeys(named) if one and Path(one).exists()]
    cache = Path(environment.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    # Not made here: docker would make it root's.
    return [*mounts, *([f"{cache}:{_CACHE}"] if cache.is_dir() else [])]
