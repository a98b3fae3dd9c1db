"""What is checked and filled in before a server starts: its key, the model's files, adapters.

Reads small files alone. What it refuses here would otherwise fail minutes later, or run code.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ragkit.errors import ModelError, UsageError
from ragkit_serve.model.serve.options import Adapter

_KEY_BYTES: Final = 32
# ragkit must know these itself: to ask whether the server is ready, and to hide the key.
_OWN: Final = {
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
    """Read the key in a file, or make one and write it there for its owner alone.

    Raises UsageError for a file that cannot be used.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_key(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}): name another") from error
    key = make_key()
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(key + "\n")
    return key


def _read_key(file: Path) -> str:
    try:
        key = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} holds no key that can be read: name another file") from error
    if not key or any(letter.isspace() for letter in key):
        raise UsageError(f"{file} must hold one key on one line: correct it, or remove the file")
    return key


def whole_path(named: str) -> str:
    """Make a path that exists absolute; anything else, a hub's name, stays as it is."""
    path = Path(named).expanduser()
    return str(path.absolute()) if path.exists() else named


def check_model(model: str, *, load_format: str) -> None:
    """Raise UsageError for a folder that vLLM could not load, or only by running a pickle."""
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
            f"{model} has no safetensors weights, and others run code when they are loaded: convert"
            " the checkpoint, or insist with --load-format"
        )


def check_extra(extra: Sequence[str]) -> None:
    """Raise UsageError for an option after -- that ragkit must be told itself."""
    for part in extra:
        name = part.partition("=")[0].replace("_", "-")
        for own, instead in _OWN.items():
            # An abbreviation counts: the parser would take it.
            if name == own or (len(name) > 3 and name.startswith("--") and own.startswith(name)):
                raise UsageError(f"{own} cannot stand after --: {instead}")


def adapters(pairs: Sequence[str], *, model_name: str) -> tuple[Adapter, ...]:
    """Read NAME=FOLDER pairs, and each adapter's rank. Raises UsageError, ModelError."""
    found: dict[str, Adapter] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--lora {pair!r} is not understood: write it as NAME=FOLDER")
        if name in found or name == model_name:
            raise UsageError(f"--lora names {name!r} twice: give each adapter a name of its own")
        path = whole_path(path)
        found[name] = Adapter(name=name, path=path, rank=_rank(Path(path)))
    return tuple(found.values())


def _rank(folder: Path) -> int | None:
    if not folder.is_dir():
        if folder.is_absolute() or str(folder).startswith("."):
            raise UsageError(f"there is no folder {folder}: name an adapter's folder")
        return None  # a hub's name
    if not (folder / "adapter_model.safetensors").is_file():
        raise UsageError(f"{folder} has no adapter_model.safetensors: save the adapter as one")
    file = folder / "adapter_config.json"
    try:
        rank = json.loads(file.read_text(encoding="utf-8"))["r"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ModelError(f"{file} does not tell the adapter's rank: save it again") from error
    if not isinstance(rank, int) or rank < 1:
        raise ModelError(f"{file} gives {rank!r} as the adapter's rank: save it again")
    return rank
