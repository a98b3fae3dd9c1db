"""A model's configuration: from its folder, a config.json, the hub's cache, or the hub.

Only that one small file is fetched. It knows nothing of memory.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import ModelError, UsageError

if TYPE_CHECKING:
    from transformers import PretrainedConfig


FILE: Final = "config.json"
FETCH_TIMEOUT_S: Final = 10.0  # arbitrary; the file has a few KB


def read_config(model: str) -> dict[str, Any]:
    """Read a model's config.json. Raises UsageError, ModelError."""
    path = Path(model).expanduser()
    if path.is_dir():
        path /= "config.json"
    text = path.read_bytes() if path.is_file() else _from_hub(model)
    try:
        config = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{path} is no model's config.json: {error}") from error
    if not isinstance(config, dict) or "model_type" not in config:
        raise UsageError(f"{path} names no model_type: it is no model's config.json")
    return config


def parse_config(config: dict[str, Any]) -> PretrainedConfig:
    """Have transformers understand a configuration; the language model's part of a larger one.

    Raises ModelError for an architecture that it does not know.
    """
    from transformers import AutoConfig

    values = {name: value for name, value in config.items() if name != "quantization_config"}
    kind = values.pop("model_type")
    try:
        parsed = AutoConfig.for_model(kind, **values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        known = "is not known to this transformers" if isinstance(error, ValueError) else "is odd"
        raise ModelError(
            f"architecture {kind!r} {known}: upgrade transformers, or plan with the figures of the"
            " model's card"
        ) from error
    text: PretrainedConfig = parsed.get_text_config()
    return text


def _from_hub(model: str) -> bytes:
    """Take the file from the hub's cache, or fetch it, trying once."""
    import httpx
    from huggingface_hub import get_token, hf_hub_download, hf_hub_url
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(model, FILE, local_files_only=True)).read_bytes()
    except HFValidationError as error:
        raise _nowhere(model) from error
    except LocalEntryNotFoundError:
        if Path(model).is_dir() or model.startswith((".", "~", "/")):
            raise _nowhere(model) from None
    token = get_token()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = hf_hub_url(model, FILE)
    try:
        answer = httpx.get(url, headers=headers, follow_redirects=True, timeout=FETCH_TIMEOUT_S)
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise ModelError(
            f"the configuration of {model} is not in the local cache and the hub did not give it:"
            " check the name and the network, or name a folder with its config.json"
        ) from error
    return answer.content


def _nowhere(model: str) -> UsageError:
    return UsageError(
        f"{model!r} is neither a folder with a config.json, nor such a file, nor a hub name: name"
        " one of them"
    )
