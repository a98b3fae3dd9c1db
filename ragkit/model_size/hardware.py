"""Read the amount of memory to plan for, and estimate the memory of helper models."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Final

from ragkit.errors import ModelError, UsageError

GIB: Final = 2**30
_UNITS: Final = {"": GIB, "GB": GIB, "GIB": GIB, "MB": 2**20, "MIB": 2**20, "TB": 1024 * GIB}
# Of the memory a card is sold with, the driver keeps about a percent: an "80 GB" H100 shows 79.6
# GiB, a "24 GB" RTX 4090 23.99.
_USABLE: Final = 0.99


def memory(gpu: str | None, ram: str | None, *, gpus: int = 1) -> tuple[bool, int]:
    """Return whether the memory is a GPU's, and its bytes. Raises UsageError, ModelError.

    A card sold with 24 GB has 24 GiB. With `gpu` "auto" the driver must see so many `gpus`.
    """
    if (gpu is None) == (ram is None):
        raise UsageError("say what to plan for: --gpu 24GB (or auto), or --ram 16GB")
    if ram is not None and gpus > 1:
        raise UsageError("--gpus does not go with --ram: take one of them")
    if gpu == "auto":
        return True, _ask_driver(gpus)
    if gpu is not None:
        return True, round(parse_bytes(gpu) * _USABLE)
    return False, parse_bytes(ram or "")


def parse_bytes(text: str) -> int:
    """Read an amount of memory, "24GB", "24" or "512MB", in bytes. Raises UsageError.

    >>> parse_bytes("24GB") == 24 * 2**30
    True
    """
    match = re.fullmatch(r"\s*+(\d{1,6}(?:\.\d{1,3})?)\s*+([A-Za-z]*+)\s*+", text)
    if match is None or match[2].upper() not in _UNITS or not float(match[1]):
        raise UsageError(f"{text!r} is no amount of memory: write it as 24GB")
    return round(float(match[1]) * _UNITS[match[2].upper()])


def helpers_bytes(model: str) -> int:
    """Estimate the bytes of an embedding model or a reranker: 16-bit weights and working memory.

    The working memory is as large as the weights, but at least half a GiB; arbitrary. Raises
    UsageError, ModelError.
    """
    from ragkit.embed.find import find_model, is_packaged
    from ragkit.model_size.config import parse_config, read_config
    from ragkit.model_size.size import encoder_size

    config = read_config(str(find_model(model).folder) if is_packaged(model) else model)
    weights = 2 * encoder_size(parse_config(config))
    return weights + max(weights, GIB // 2)


def process_bytes(*, on_gpu: bool) -> int:
    """Return the bytes of ragkit's process on a GPU for its context: half a GiB, arbitrary."""
    return GIB // 2 if on_gpu else 0


def _ask_driver(gpus: int) -> int:
    """Return the memory of the smallest GPU that nvidia-smi sees. Raises ModelError, UsageError."""
    program = shutil.which("nvidia-smi")
    if program is None:
        raise ModelError("nvidia-smi is not installed: name the amount of memory, as in --gpu 24GB")
    query = [program, "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True)
        sizes = [int(line) * 2**20 for line in done.stdout.split()]
        smallest = min(sizes)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ModelError(
            "nvidia-smi sees no GPU: name the amount of memory, as in --gpu 24GB"
        ) from error
    if len(sizes) < gpus:
        raise UsageError(f"nvidia-smi sees {len(sizes)} GPUs, not {gpus}: correct --gpus")
    return smallest
