"""Read from a model's configuration how its weights are quantized.

The configuration is in a folder or in the hub's local cache; weights and network are never read.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragkit.errors import ModelError

_EXPERTS = re.compile(r"(num_(local_|routed_)?experts|n_routed_experts|moe_num_experts)")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The storage format of a model's weights.

    `method` is the quantization's name as vLLM writes it ("awq", "compressed-tensors", ...),
    "gguf", or "" for weights in 16 or 32 bits. `weights` is the number format that a
    compressed-tensors checkpoint names ("int8", "int4", "float8"), else "".
    """

    method: str = ""
    weights: str = ""
    experts: bool = False


def read_checkpoint(model: str) -> Checkpoint | None:
    """Return how a model is quantized, or None for a hub name without a local copy.

    Raises ModelError for a folder whose config.json cannot be read.
    """
    path = Path(model).expanduser()
    if path.suffix.lower() == ".gguf" or (path.is_dir() and not _config(path) and _ggufs(path)):
        return Checkpoint(method="gguf")
    if path.is_dir():
        file = _config(path)
        if file is None:
            raise ModelError(f"model folder {model} has no config.json: name a model's folder")
    elif path.exists():
        raise ModelError(f"{model} is neither a model's folder nor a .gguf file: name one of them")
    else:
        file = _cached_config(model)
    return None if file is None else parse_checkpoint(_json(file))


def parse_checkpoint(config: Mapping[str, Any]) -> Checkpoint:
    """Read the values of a config.json.

    >>> parse_checkpoint({"quantization_config": {"quant_method": "awq", "bits": 4}})
    Checkpoint(method='awq', weights='', experts=False)
    """
    inner = config.get("text_config") or {}
    section = next(
        (
            part[key]
            for part in (config, inner)
            for key in ("quantization_config", "compression_config")
            if isinstance(part.get(key), Mapping)
        ),
        None,
    )
    experts = any(
        isinstance(value, int) and value > 1
        for part in (config, inner)
        for name, value in part.items()
        if _EXPERTS.fullmatch(name)
    )
    if section is None:
        return Checkpoint(experts=experts)
    method = str(section.get("quant_method") or "unknown").lower().replace("_", "-")
    weights = _number_format(section) if method == "compressed-tensors" else ""
    return Checkpoint(method=method, weights=weights, experts=experts)


def _number_format(section: Mapping[str, Any]) -> str:
    """Name the number format of the first group of layers, as "int8"."""
    for group in (section.get("config_groups") or {}).values():
        weights = group.get("weights") or {}
        if "num_bits" in weights:
            return f"{weights.get('type', 'int')}{weights['num_bits']}"
    return ""


def _config(folder: Path) -> Path | None:
    file = folder / "config.json"
    return file if file.is_file() else None


def _ggufs(folder: Path) -> bool:
    return any(folder.glob("*.gguf"))


def _cached_config(model: str) -> Path | None:
    """Find config.json in the hub's local cache."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        file = try_to_load_from_cache(model, "config.json")
    except HFValidationError as error:
        raise ModelError(
            f"model {model!r} is neither a folder nor a hub name: name one of them"
        ) from error
    return Path(file) if isinstance(file, str) else None


def _json(file: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read as JSON: save the model again") from error
    if not isinstance(value, dict):
        raise ModelError(f"{file} holds no JSON object: save the model again")
    return value
