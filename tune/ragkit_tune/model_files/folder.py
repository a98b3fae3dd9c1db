"""A new model folder: made in a hidden folder beside its place and renamed last, or not at all.

The files besides the weights are carried; those that were measured on other weights are not.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.find import ModelFiles, find_model, read_json
from ragkit.embed.models import model_card, settings_of
from ragkit.errors import ModelError, UsageError
from ragkit.system.private_files import make_private, private
from ragkit_tune.model_files.tensors import RANGES, TensorFolder, open_tensors

if TYPE_CHECKING:
    from collections.abc import Iterable

_CARRIED: Final = ("*.json", "*.txt", "*.model", "*.jinja", "LICENSE*", "NOTICE*", "USE_POLICY*")
# Cards of the parent, and the index of its files of weights.
_STALE: Final = frozenset({"card.json", "ragkit_quantization.json", "run.json", "job.json"})
PROMPTS: Final = "config_sentence_transformers.json"
SPARE_BYTES: Final = 64 << 20  # of the disk, beside the weights: tokenizer and cards


def find_parent(model: str) -> tuple[ModelFiles, TensorFolder]:
    """Find a model and its tensors. Raises ModelError, UsageError for a quantized one."""
    files = find_model(model, kind="model")
    config = read_json(files.folder / "config.json")
    if not isinstance(config, dict) or not config:
        raise ModelError(f"model {model} has no config.json in {files.folder}: get it anew")
    if config.get("quantization_config"):
        raise UsageError(f"{model} is quantized: name the original, in 16 or 32 bits")
    return files, open_tensors(files.folder, model)


def module_folders(folder: Path) -> list[str]:
    """List the folders of a sentence-transformers pipeline that hold modules with files."""
    modules = read_json(folder / "modules.json") or []
    paths = [str(module["path"]) for module in modules if module.get("path")]
    if any(Path(path).name != path for path in paths):
        raise ModelError(f"{folder / 'modules.json'} names a folder elsewhere: get the model anew")
    return [path for path in paths if (folder / path).is_dir()]


@contextmanager
def new_folder(out: Path, size_bytes: int) -> Iterator[Path]:
    """Give a hidden folder that becomes `out` at the end; on an error nothing remains.

    `size_bytes` are those of the weights to come. Raises UsageError for a folder that exists or
    whose parent does not, ModelError when the disk is too small or cannot be written.
    """
    from safetensors import SafetensorError

    out = Path(os.path.abspath(out.expanduser()))
    if out.exists():
        raise UsageError(f"{out} exists already: name another --out, or remove it first")
    if not out.parent.is_dir():
        raise UsageError(f"folder {out.parent} does not exist: make it, or name another --out")
    free = shutil.disk_usage(out.parent).free
    if free < size_bytes + SPARE_BYTES:
        raise ModelError(
            f"{out.parent} has {free / 1e9:.2f} GB free where {size_bytes / 1e9:.2f} GB of weights"
            " are to be written: make room, or name an --out on another disk"
        )
    hidden = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    try:
        make_private(hidden)
        yield hidden
        hidden.rename(out)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(
            f"{out} cannot be written ({reason}): make room, or name another --out"
        ) from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def carry_files(parent: ModelFiles, folder: Path, stale: Iterable[str] = ()) -> None:
    """Copy a model's files besides its weights, without those named `stale`.

    ragkit knows some models' prefixes and languages by their names, which the new folder does not
    have: they are written into it.
    """
    left_out = {*_STALE, *stale}
    for place in ("", *module_folders(parent.folder)):
        source = parent.folder / place
        make_private(folder / place)
        for file in sorted({file for form in _CARRIED for file in source.glob(form)}):
            index = file.name.endswith(".index.json")
            if file.is_file() and not index and file.name not in left_out:
                copy_file(file, folder / place / file.name)
    carry_card(parent, folder)


def carry_card(parent: ModelFiles, folder: Path) -> None:
    """Write a parent's prefixes and languages where the pipeline of a model keeps its prompts."""
    known = settings_of(model_card(parent.name, parent.folder))
    if not (folder / "modules.json").is_file() or not known:
        return
    settings = read_json(folder / PROMPTS)
    prompts = known.get("prompts", {}) | (settings.get("prompts") or {})
    write_json(folder / PROMPTS, known | settings | ({"prompts": prompts} if prompts else {}))


def copy_file(source: Path, target: Path) -> None:
    """Copy a file for its owner alone, as the folder is: a tuned model can give texts away."""
    with source.open("rb") as content, open(target, "wb", opener=private) as stream:
        shutil.copyfileobj(content, stream)


def write_json(file: Path, content: Any) -> None:
    """Write a file of JSON for its owner alone, as the folder is."""
    with open(file, "w", encoding="utf-8", opener=private) as stream:
        json.dump(content, stream, ensure_ascii=False, indent=2)
        stream.write("\n")


def has_ranges(folder: Path) -> bool:
    """Tell whether a model has measured ranges for 8-bit products."""
    return (folder / RANGES).is_file()
