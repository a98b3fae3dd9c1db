"""The tensors of a folder of safetensors, in one file or several: read and written one by one.

Memory stays at one tensor, whatever the model's size. Which network they make is not known here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.find import read_json
from ragkit.errors import ModelError, UsageError
from ragkit.system.private_files import private

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS: Final = "model.safetensors"
INDEX: Final = "model.safetensors.index.json"
RANGES: Final = "ranges.safetensors"  # of `ragkit.embed.int8`: measured on one network, no weights
FLOATS: Final = frozenset({"F64", "F32", "F16", "BF16"})
_BYTES: Final = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2}
_BYTES_OF_REST: Final = {"I8": 1, "U8": 1, "BOOL": 1}
_ALIGNED: Final = 8  # bytes that the header's length is a multiple of, as the format's own writer

Read = Callable[[str], "Tensor"]


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor as it is stored: shape, number format as safetensors writes it, and its file."""

    shape: tuple[int, ...]
    dtype: str
    file: str = WEIGHTS

    @property
    def bytes(self) -> int:
        """Count the tensor's bytes."""
        size = (_BYTES | _BYTES_OF_REST)[self.dtype]
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True, slots=True)
class TensorFolder:
    """The tensors of one folder, by name. `model` is the name that errors give."""

    folder: Path
    model: str
    table: Mapping[str, Stored]

    @property
    def bytes(self) -> int:
        """Count the bytes of all tensors."""
        return sum(stored.bytes for stored in self.table.values())

    def read(self, name: str) -> Tensor:
        """Read a tensor. Raises ModelError for a damaged file and for numbers that are not finite.

        A model with a NaN is a failed training: nothing made of it is of use.
        """
        from safetensors import SafetensorError, safe_open

        file = self.folder / self.table[name].file
        try:
            with safe_open(file, framework="pt") as tensors:
                tensor: Tensor = tensors.get_tensor(name)
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{file} cannot be read ({error}): get the model anew") from error
        if not is_finite(tensor):
            raise ModelError(
                f"{self.model}: {name} has numbers that are not finite (NaN or infinity): take a"
                " checkpoint from before the training failed"
            )
        return tensor


def is_finite(tensor: Tensor) -> bool:
    """Tell whether all numbers are finite, without a copy of the tensor."""
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    low, high = tensor.aminmax()  # of which a NaN makes NaNs
    return bool(low.isfinite() and high.isfinite())


def open_tensors(folder: Path, model: str) -> TensorFolder:
    """Read which tensors a folder has. Raises ModelError, UsageError for a quantized model."""
    from safetensors import SafetensorError, safe_open

    table: dict[str, Stored] = {}
    for file in _files(folder, model):
        try:
            with safe_open(folder / file, framework="pt") as tensors:
                for name in tensors.keys():  # noqa: SIM118  it is no mapping
                    part = tensors.get_slice(name)
                    table[name] = Stored(tuple(part.get_shape()), part.get_dtype(), file)
        except (SafetensorError, OSError) as error:
            raise ModelError(
                f"{folder / file} cannot be read ({error}): get the model anew"
            ) from error
    for name, stored in table.items():
        if stored.dtype not in _BYTES | _BYTES_OF_REST:
            raise UsageError(
                f"{model}: {name} is stored as {stored.dtype}: name the original, in 16 or 32 bits"
            )
    return TensorFolder(folder, model, table)


def _files(folder: Path, model: str) -> list[str]:
    """List the files of weights: those of the index, or the single one."""
    index = read_json(folder / INDEX)
    places = index.get("weight_map") if isinstance(index, dict) else None
    if places:
        files = sorted(set(map(str, places.values())))
        if any(Path(file).name != file for file in files):
            raise ModelError(f"{folder / INDEX} names files of other folders: get the model anew")
    else:
        files = sorted(file.name for file in folder.glob("*.safetensors") if file.name != RANGES)
    missing = next((file for file in files if not (folder / file).is_file()), None)
    if missing is not None:
        raise ModelError(f"model {model} has no {missing}, which its index names: get it anew")
    if not files:
        raise ModelError(f"model {model} has no *.safetensors in {folder}: save it in that format")
    return files


def write_tensors(file: Path, table: Mapping[str, Stored], read: Read) -> None:
    """Write tensors to one file of safetensors, one after the other. Raises OSError.

    `read` returns each of the table's tensors, of the shape and the number format that it states.
    """
    import torch

    names = sorted(table, key=lambda name: (-_width(table[name].dtype), name))  # so all are aligned
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name in names:
        stored = table[name]
        header[name] = {
            "dtype": stored.dtype,
            "shape": list(stored.shape),
            "data_offsets": [place, place + stored.bytes],
        }
        place += stored.bytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNED)
    with open(file, "wb", opener=private) as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            tensor = read(name)
            assert tuple(tensor.shape) == table[name].shape, name
            content = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
            assert content.nbytes == table[name].bytes, name
            stream.write(content.data)
        stream.flush()
        os.fsync(stream.fileno())


def _width(dtype: str) -> int:
    return (_BYTES | _BYTES_OF_REST)[dtype]
