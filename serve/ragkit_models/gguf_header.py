"""Read the header of a GGUF file: the model, its quantization, its chat template.

Only the key-value pairs are read, never a tensor. Sizes in the file are checked against the size
of the file. Format: github.com/ggml-org/ggml, docs/gguf.md.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final

from ragkit.errors import ModelError

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_MAX_PAIRS: Final = 100_000  # arbitrary; real files have some dozens
_STRING, _ARRAY = 8, 9
_SCALARS: Final = {
    **{0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?"},
    **{10: "<Q", 11: "<q", 12: "<d"},
}

# The numbers of general.file_type, as the gguf package's LlamaFileType has them.
FILE_TYPES: Final = {
    **{0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K"},
    **{11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S"},
    **{17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS"},
    **{23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S"},
    **{29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0"},
    **{38: "MXFP4_MOE", 39: "NVFP4", 40: "Q1_0"},
}

_Value = int | float | str


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The values of a GGUF file's header; `context_tokens` 0 and texts "" where they are missing.

    `kind` is "model", "adapter" (LoRA), "mmproj", ...; `part` counts from 0 among `parts`.
    """

    architecture: str
    kind: str = "model"
    name: str = ""
    quantization: str = ""
    context_tokens: int = 0
    chat_template: str = ""
    tensors: int = 0
    part: int = 0
    parts: int = 1


def read_gguf(file: Path) -> GgufHeader:
    """Read a GGUF file's header. Raises ModelError for a missing, truncated or other file."""
    try:
        with file.open("rb") as stream:
            size = file.stat().st_size
            return _header(_Reader(stream, size))
    except OSError as error:
        raise ModelError(
            f"GGUF file {file} cannot be read ({error.strerror}): name one that can"
        ) from error
    except _Malformed as error:
        raise ModelError(f"{file} is not a usable GGUF file: {error}; download it again") from error


class _Malformed(Exception):
    """Bytes that do not follow the format."""


class _Reader:
    """Read little-endian values, never beyond the end of the file."""

    def __init__(self, stream: BufferedReader, size: int) -> None:
        self._stream = stream
        self._remaining = size

    def take(self, count: int) -> bytes:
        if count > self._remaining:
            raise _Malformed("it is cut off")
        self._remaining -= count
        return self._stream.read(count)

    def skip(self, count: int) -> None:
        if count > self._remaining:
            raise _Malformed("it is cut off")
        self._remaining -= count
        self._stream.seek(count, 1)

    def number(self, form: str) -> int:
        value: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def text(self) -> str:
        return self.take(self.number("<Q")).decode("utf-8", errors="replace")

    def value(self, kind: int) -> _Value | None:
        """Read one value; skip an array, which is always a vocabulary."""
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            self._skip_array()
            return None
        if kind not in _SCALARS:
            raise _Malformed(f"a value of the unknown type {kind}")
        return self.number(_SCALARS[kind])

    def _skip_array(self) -> None:
        kind, count = self.number("<I"), self.number("<Q")
        if kind in _SCALARS:
            self.skip(count * struct.calcsize(_SCALARS[kind]))
        elif kind == _STRING:
            if count * 8 > self._remaining:  # the length of a string has 8 bytes
                raise _Malformed("it is cut off")
            for _ in range(count):
                self.skip(self.number("<Q"))
        else:
            raise _Malformed(f"an array of the unsupported type {kind}")


def _header(reader: _Reader) -> GgufHeader:
    if reader.take(4) != _MAGIC:
        raise _Malformed("it does not begin with GGUF")
    version = reader.number("<I")
    if version not in _VERSIONS:
        raise _Malformed(f"its format version is {version}, and 2 or 3 is needed")
    tensors, pairs = reader.number("<Q"), reader.number("<Q")
    if pairs > _MAX_PAIRS:
        raise _Malformed(f"it claims to have {pairs} key-value pairs")
    values: dict[str, _Value] = {}
    for _ in range(pairs):
        key = reader.text()
        value = reader.value(reader.number("<I"))
        if value is not None:
            values[key] = value
    architecture = str(values.get("general.architecture", ""))
    if not architecture:
        raise _Malformed("it names no architecture")
    return _read_values(values, architecture, tensors)


def _read_values(values: Mapping[str, _Value], architecture: str, tensors: int) -> GgufHeader:
    file_type = _integer(values, "general.file_type", -1)
    return GgufHeader(
        architecture=architecture,
        kind=str(values.get("general.type", "model")),
        name=str(values.get("general.name", "")),
        quantization="" if file_type < 0 else FILE_TYPES.get(file_type, f"type {file_type}"),
        context_tokens=_integer(values, f"{architecture}.context_length", 0),
        chat_template=str(values.get("tokenizer.chat_template", "")),
        tensors=tensors,
        part=_integer(values, "split.no", 0),
        parts=max(1, _integer(values, "split.count", 1)),
    )


def _integer(values: Mapping[str, _Value], key: str, default: int) -> int:
    value = values.get(key, default)
    if not isinstance(value, int):
        raise _Malformed(f"its {key} is not an integer")
    return value
