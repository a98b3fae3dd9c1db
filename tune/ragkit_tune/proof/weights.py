"""The hash of a model folder: it changes with its weights and with everything that is loaded."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from ragkit.errors import NotFoundError

# What is written beside a model about it, and is not loaded.
_BESIDE: Final = frozenset({"card.json", "card.md", "verdict.json", "adopted.json", "README.md"})


def model_hash(folder: Path) -> str:
    """Return the sha256 over all files of a model but its cards. Raises NotFoundError.

    Names count too, as a renamed file is not loaded any more.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [path for path in files if path.name not in _BESIDE]
    if not any(path.suffix == ".safetensors" for path in files):
        raise NotFoundError(
            f"model folder {folder} has no *.safetensors: name a finished run or a model's folder"
        )
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{content}  {path.relative_to(folder).as_posix()}\n".encode())
    return digest.hexdigest()
