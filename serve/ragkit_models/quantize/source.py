"""Find the model to quantize: its folder, name and size."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ragkit.errors import ModelError, UsageError
from ragkit_models.checkpoint import read_checkpoint

_MODEL_FILES: Final = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")
_LEGAL: Final = ("LICENSE*", "NOTICE*", "USE_POLICY*")
_CODE: Final = ("*.py",)
_ETAG_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Source:
    """A model's folder, its name for people, its revision ("" for a local folder) and bytes."""

    folder: Path
    name: str
    revision: str
    weight_bytes: int


def find_source(model: str, *, remote_code: bool = False) -> Source:
    """Find a model to quantize; download a hub name that is not in the cache.

    Raises ModelError when the model is unavailable or has no safetensors, UsageError when it is
    quantized already.
    """
    path = Path(model).expanduser()
    if path.exists():
        _check_unquantized(model)
        return _source(path, path.resolve().name, "")
    if path.is_absolute() or model.startswith((".", "~")):
        raise ModelError(f"model folder {model} does not exist: name one that does")
    folder = _from_hub(model, (*_MODEL_FILES, *_LEGAL, *(_CODE if remote_code else ())))
    _check_unquantized(str(folder))
    return _source(folder, model, folder.name)


def weight_bytes(folder: Path) -> int:
    """Add up the bytes of a folder's *.safetensors."""
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))


def copy_other_files(source: Source, output: Path, *, code: bool) -> None:
    """Copy the files of a model besides its weights: tokenizer, chat template, licence.

    Files are copied byte by byte, and existing ones stay: a tokenizer that is loaded and saved can
    differ, for example in a truncation length.
    """
    for pattern in (*_MODEL_FILES, *_LEGAL, *(_CODE if code else ())):
        for file in source.folder.glob(pattern):
            weights = file.suffix == ".safetensors" or file.name.endswith(".index.json")
            if file.is_file() and not weights and not (output / file.name).exists():
                shutil.copyfile(file, output / file.name)


def copy_legal_files(source: Source, output: Path) -> None:
    """Copy a model's licence and notices; a GGUF file holds all else itself."""
    for pattern in _LEGAL:
        for file in source.folder.glob(pattern):
            if file.is_file():
                shutil.copyfile(file, output / file.name)


def _source(folder: Path, name: str, revision: str) -> Source:
    size = weight_bytes(folder)
    if not size:
        raise ModelError(
            f"model folder {folder} has no *.safetensors: save the model in that format"
        )
    return Source(folder, name, revision, size)


def _check_unquantized(model: str) -> None:
    checkpoint = read_checkpoint(model)
    if checkpoint is not None and checkpoint.method:
        method = f"{checkpoint.method} {checkpoint.weights}".strip()
        raise UsageError(
            f"{model} is quantized already ({method}): name the original, in 16 or 32 bits"
        )


def _from_hub(model: str, patterns: tuple[str, ...]) -> Path:
    from huggingface_hub import errors, snapshot_download

    try:
        return Path(
            snapshot_download(model, allow_patterns=list(patterns), etag_timeout=_ETAG_TIMEOUT_S)
        )
    except errors.HFValidationError as error:
        raise ModelError(
            f"model {model!r} is neither a folder nor a hub name: name one of them"
        ) from error
    except (OSError, errors.HTTPError) as error:  # type: ignore[attr-defined]
        raise ModelError(
            f"model {model} is not in the local cache and the hub did not give it: check the name"
            " and the network, or name a folder"
        ) from error
