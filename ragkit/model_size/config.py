"""Read a model's configuration from its folder, a config.json, the hub's cache, or the hub.

Only small files are fetched, never weights.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import ModelError, UsageError

if TYPE_CHECKING:
    from transformers import PretrainedConfig

FILE: Final = "config.json"
INDEX: Final = "model.safetensors.index.json"
FETCH_TIMEOUT_S: Final = 10.0  # arbitrary; the files have a few KB
# Models that bring code, by an architecture of the same shape: internlm2 packs query, key and
# value into one matrix of the same size (its modeling_internlm2.py, and vLLM's internlm2.py).
_SAME_SHAPE: Final = {"internlm2": "llama"}
_MAX_LAYERS: Final = 1000  # arbitrary; more are taken for a mistake in the configuration


def read_config(model: str) -> dict[str, Any]:
    """Read a model's config.json. Raises UsageError, ModelError."""
    path = Path(model).expanduser()
    if path.suffix.lower() == ".gguf":
        raise UsageError(
            f"{model} is a GGUF file, which has no config.json: plan for its original model"
        )
    if path.is_dir():
        path /= FILE
    text = path.read_bytes() if path.is_file() else _config_from_hub(model)
    try:
        config = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{path} is no model's config.json: {error}") from error
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise UsageError(f"{path} names no model_type: it is no model's config.json")
    return config


def stored_bytes(model: str) -> int | None:
    """Return the bytes of a model's safetensors files, None where they are unknown.

    They are those of a folder's files, or of a model's index on the hub; a model in a single file
    has no index.
    """
    path = Path(model).expanduser()
    if path.exists():
        folder = path if path.is_dir() else path.parent
        return sum(file.stat().st_size for file in folder.glob("*.safetensors")) or None
    try:
        index = json.loads(_from_hub(model, INDEX))
        return int(index["metadata"]["total_size"]) or None
    except (ModelError, ValueError, KeyError, TypeError):
        return None  # the caller estimates


def parse_config(config: dict[str, Any]) -> PretrainedConfig:
    """Parse a configuration with transformers.

    Raises ModelError for an unknown architecture or unusable values.
    """
    from huggingface_hub.errors import StrictDataclassError
    from transformers import CONFIG_MAPPING, AutoConfig

    dropped = {"model_type", "quantization_config", "attn_implementation", "_attn_implementation"}
    values = {name: value for name, value in config.items() if name not in dropped}
    kind = _SAME_SHAPE.get(config["model_type"], config["model_type"])
    if kind not in CONFIG_MAPPING:
        raise ModelError(
            f"architecture {kind!r} is not known to this transformers: upgrade it, or plan by the"
            " figures on the model's card"
        )
    wrong = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
    try:
        parsed = AutoConfig.for_model(kind, **values)
        layers = int(parsed.get_text_config().num_hidden_layers)
    except (*wrong, StrictDataclassError) as error:
        message = " ".join(str(error).split())[:120]
        raise ModelError(
            f"the configuration of architecture {kind!r} cannot be used ({message}): check its"
            " config.json"
        ) from error
    if not 0 < layers <= _MAX_LAYERS:
        raise ModelError(f"the configuration asks for {layers} layers: check its config.json")
    return parsed


def layer_configs(config: PretrainedConfig) -> list[PretrainedConfig]:
    """Return the configuration of each layer; in some architectures (Gemma 4) they differ."""
    if getattr(config, "is_heterogeneous", False):
        return list(config.per_layer_config)
    return [config] * int(config.num_hidden_layers)


def _config_from_hub(model: str) -> bytes:
    if model.startswith((".", "~", "/")) or model.count("/") > 1:
        raise _not_a_model(model)
    return _from_hub(model, FILE)


def _from_hub(model: str, file: str) -> bytes:
    """Read a file from the hub's cache, or fetch it with one request."""
    import httpx
    from huggingface_hub import constants, get_token, hf_hub_download, hf_hub_url
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(model, file, local_files_only=True)).read_bytes()
    except HFValidationError as error:
        raise _not_a_model(model) from error
    except LocalEntryNotFoundError as error:
        if constants.HF_HUB_OFFLINE:
            raise _unavailable(model, "HF_HUB_OFFLINE is set") from error
    token = get_token()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = hf_hub_url(model, file)
    try:
        answer = httpx.get(url, headers=headers, follow_redirects=True, timeout=FETCH_TIMEOUT_S)
        answer.raise_for_status()
    except httpx.HTTPStatusError as error:
        raise _unavailable(model, f"the hub answers {error.response.status_code}") from error
    except httpx.HTTPError as error:
        raise _unavailable(model, "the hub cannot be reached") from error
    return answer.content


def _unavailable(model: str, reason: str) -> ModelError:
    return ModelError(
        f"the configuration of {model} is not in the local cache, and {reason}: check the name"
        " and the network, or name a folder with its config.json"
    )


def _not_a_model(model: str) -> UsageError:
    return UsageError(
        f"{model!r} is neither a folder with a config.json, nor such a file, nor a hub name: name"
        " one of them"
    )
