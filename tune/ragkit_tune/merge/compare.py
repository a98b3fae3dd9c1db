"""Compare the models of a merge: the first difference that makes a merge meaningless."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ragkit.embed.find import read_json
from ragkit.errors import UsageError
from ragkit_tune.model_files.folder import PROMPTS, module_folders
from ragkit_tune.model_files.tensors import TensorFolder

# Of config.json: where and with what a model was saved, not what it computes.
_HISTORY: Final = frozenset(
    {"_name_or_path", "architectures", "transformers_version", "torch_dtype", "dtype", "use_cache"}
)
_TOKENIZER: Final = "tokenizer.json"
_SLOW_TOKENIZERS: Final = ("vocab.txt", "vocab.json", "merges.txt", "*.model")
_SHOWN_CHARS: Final = 40


def require_equal_tensors(first: TensorFolder, second: TensorFolder) -> None:
    """Raise UsageError naming the first tensor that a model lacks or has in another shape."""
    for name in sorted({*first.table, *second.table}):
        for has, lacks in ((first, second), (second, first)):
            if name not in lacks.table:
                _refuse(f"{name} is in {has.model} and not in {lacks.model}")
        shapes = first.table[name].shape, second.table[name].shape
        if shapes[0] != shapes[1]:
            _refuse(
                f"{name} is {_by(shapes[0])} in {first.model}, {_by(shapes[1])} in {second.model}"
            )


def require_equal_settings(first: TensorFolder, second: TensorFolder) -> None:
    """Raise UsageError naming the first difference of configuration, pipeline or tokenizer."""
    a, b = first.folder, second.folder
    files = ["config.json", "modules.json"]
    if module_folders(a) == module_folders(b):
        files += [f"{name}/config.json" for name in module_folders(a)]
    for file in files:
        ignored = _HISTORY if file == "config.json" else frozenset()
        _require_equal(
            file, _settings(a / file, ignored), _settings(b / file, ignored), first, second
        )
    prompts = [(read_json(folder / PROMPTS) or {}).get("prompts") for folder in (a, b)]
    _require_equal(PROMPTS, {"prompts": prompts[0]}, {"prompts": prompts[1]}, first, second)
    _require_equal("tokenizer", _tokenizer(a), _tokenizer(b), first, second)


def difference(first: Any, second: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Find where two JSON values differ first: the path and both values; null, false: absent.

    >>> difference({"a": [1, 2]}, {"a": [1, 3], "b": None})
    ('a.1', 2, 3)
    """
    if first == second:
        return None
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        parts = [(key, first.get(key), second.get(key)) for key in {**first, **second}]
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        parts = [(str(n), a, b) for n, (a, b) in enumerate(zip(first, second, strict=True))]
    elif first in (None, False) and second in (None, False):
        return None
    else:
        return path, first, second
    for key, a, b in parts:
        deeper = difference(a, b, f"{path}.{key}".lstrip("."))
        if deeper is not None:
            return deeper
    return None


def _require_equal(file: str, a: Any, b: Any, first: TensorFolder, second: TensorFolder) -> None:
    place = difference(a, b)
    if place is not None:
        path, value, another = place
        _refuse(
            f"{file}: {path} is {_shown(value)} in {first.model}, {_shown(another)} in"
            f" {second.model}"
        )


def _refuse(reason: str) -> None:
    raise UsageError(
        f"the models cannot be merged: {reason}: merge models tuned from the same base"
    )


def _settings(file: Path, ignored: frozenset[str]) -> Any:
    settings = read_json(file)
    if not isinstance(settings, dict):
        return settings
    return {key: value for key, value in settings.items() if key not in ignored}


def _tokenizer(folder: Path) -> dict[str, Any]:
    """Return what a tokenizer does with a text; without tokenizer.json, its files' hashes."""
    tokenizer = read_json(folder / _TOKENIZER)
    if tokenizer:
        return {key: tokenizer[key] for key in tokenizer if key not in ("truncation", "padding")}
    files = sorted(file for form in _SLOW_TOKENIZERS for file in folder.glob(form))
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _shown(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return f"of {len(value)} entries"
    text = "absent" if value is None else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a number"
