"""Check and complete the options before a server starts: its key, the model's files, adapters.

Mistakes that are found here would otherwise fail minutes later, or run code.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import ModelError, UsageError
from ragkit_models.serve.options import Adapter

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

_KEY_BYTES: Final = 32
# ragkit needs these itself: to ask whether the server is ready, and to hide the key.
_RESERVED: Final = {
    "--api-key": "set RAGKIT_LLM_API_KEY or --api-key-file, which no process list shows",
    "--host": "write --host before the --",
    "--port": "write --port before the --",
    "--uds": "write --unix-socket before the --",
    "--model": "name the model first",
    "--served-model-name": "write --name before the --",
    "--config": "write the options themselves",
}


def make_key() -> str:
    """Make a random key of 256 bits."""
    return secrets.token_urlsafe(_KEY_BYTES)


def key_in(file: Path) -> str:
    """Read the key in a file, or make one and write it there, readable by its owner alone.

    Raises UsageError for a file that cannot be used.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_key(file)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written ({error.strerror}): name another file"
        ) from error
    key = make_key()
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(key + "\n")
    return key


def _read_key(file: Path) -> str:
    try:
        key = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read as a key: name another file") from error
    if not key or any(letter.isspace() for letter in key):
        raise UsageError(f"{file} must hold one key on one line: correct it, or remove the file")
    return key


def absolute_path(model: str) -> str:
    """Make the path of an existing file or folder absolute; return a hub's name unchanged."""
    path = Path(model).expanduser()
    return str(path.absolute()) if path.exists() else model


def check_model(model: str, *, load_format: str) -> None:
    """Raise UsageError for a folder that vLLM cannot load, or only by running a pickle."""
    folder = Path(model)
    if folder.is_file():
        raise UsageError(f"{model} is a file: name the model's folder, or use --engine llamacpp")
    if not folder.is_dir():
        if model.startswith((".", "/", "~")) or model.count("/") > 1:
            raise UsageError(f"there is no folder {model}: name a model's folder or its hub name")
        return
    if not (folder / "config.json").is_file():
        raise UsageError(f"{model} has no config.json: name the folder of a model")
    if load_format == "safetensors" and not any(folder.glob("*.safetensors")):
        raise UsageError(
            f"{model} has no safetensors weights, and other formats can run code: convert"
            " the checkpoint, or insist with --load-format"
        )


def check_extra(extra: Sequence[str]) -> None:
    """Raise UsageError for an option after -- that ragkit has an option for."""
    for part in extra:
        name = part.partition("=")[0].replace("_", "-")
        for option, remedy in _RESERVED.items():
            # An abbreviation counts: the engine's parser would take it.
            abbreviated = len(name) > 3 and name.startswith("--") and option.startswith(name)
            if name == option or abbreviated:
                raise UsageError(f"{option} cannot stand after --: {remedy}")


def adapters(pairs: Sequence[str], *, model_name: str) -> tuple[Adapter, ...]:
    """Read NAME=FOLDER pairs, and each adapter's rank. Raises UsageError, ModelError."""
    by_name: dict[str, Adapter] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--lora {pair!r} has no name or no folder: write it as NAME=FOLDER")
        if name in by_name or name == model_name:
            raise UsageError(f"--lora names {name!r} twice: give each adapter a name of its own")
        path = absolute_path(path)
        by_name[name] = Adapter(name=name, path=path, rank=_rank(Path(path)))
    return tuple(by_name.values())


def prompt_notes(adapters: Sequence[Adapter], settings: Settings) -> list[str]:
    """Say which adapters were trained with other prompts than those that ask them now."""
    from ragkit.prompts.trained import current_versions, read_trained

    notes = []
    for adapter in adapters:
        trained = read_trained(Path(adapter.path))
        if not trained.versions:
            continue
        current = current_versions(settings.prompts, trained.collection or settings.collection)
        if stale := trained.stale(current):
            notes.append(
                f"adapter {adapter.name} was trained with prompts of version {', '.join(stale)},"
                f" and they are {', '.join(sorted(current))} now: its answers may be worse"
            )
    return notes


def _rank(folder: Path) -> int | None:
    if not folder.is_dir():
        if folder.is_absolute() or str(folder).startswith("."):
            raise UsageError(f"there is no folder {folder}: name an adapter's folder")
        return None  # a name on the hub
    if not (folder / "adapter_model.safetensors").is_file():
        raise UsageError(f"{folder} has no adapter_model.safetensors: save the adapter as one")
    file = folder / "adapter_config.json"
    try:
        rank = json.loads(file.read_text(encoding="utf-8"))["r"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ModelError(
            f"{file} does not hold the adapter's rank: save the adapter again"
        ) from error
    if not isinstance(rank, int) or rank < 1:
        raise ModelError(f"{file} gives {rank!r} as the adapter's rank: save the adapter again")
    return rank
