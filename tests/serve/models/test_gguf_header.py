"""The head of a GGUF file, from bytes written here, good ones and hostile ones."""

import struct
from pathlib import Path

import pytest

from ragkit.errors import ModelError
from ragkit_models.gguf_header import GgufHeader, read_gguf

U16, U32, BOOL, STRING, ARRAY, U64 = 2, 4, 7, 8, 9, 10


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def head(*pairs: bytes, version: int = 3, tensors: int = 21, count: int | None = None) -> bytes:
    counted = len(pairs) if count is None else count
    return b"GGUF" + struct.pack("<IQQ", version, tensors, counted) + b"".join(pairs)


LLAMA = pair("general.architecture", STRING, text("llama"))
VOCABULARY = pair(
    "tokenizer.ggml.tokens",
    ARRAY,
    struct.pack("<IQ", STRING, 3) + text("<s>") + text("年假") + text("leave"),
)
SCORES = pair("tokenizer.ggml.token_type", ARRAY, struct.pack("<IQ3i", 5, 3, 1, 2, 3))
FULL = (
    LLAMA,
    pair("general.name", STRING, text("小模型")),
    pair("general.file_type", U32, struct.pack("<I", 15)),
    VOCABULARY,
    SCORES,
    pair("llama.context_length", U32, struct.pack("<I", 8192)),
    pair("tokenizer.ggml.add_bos_token", BOOL, b"\1"),
    pair("tokenizer.chat_template", STRING, text("{{ messages }}")),
)


def read(tmp_path: Path, content: bytes) -> GgufHeader:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    return read_gguf(file)


@pytest.mark.parametrize("version", [2, 3])
def test_a_head_says_what_model_it_is(tmp_path: Path, version: int) -> None:
    assert read(tmp_path, head(*FULL, version=version) + b"tensors follow") == GgufHeader(
        architecture="llama",
        name="小模型",
        quantization="Q4_K_M",
        context_tokens=8192,
        chat_template="{{ messages }}",
        tensors=21,
    )


def test_what_a_file_does_not_say_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path, head(LLAMA)) == GgufHeader(architecture="llama", tensors=21)


def test_a_part_of_a_split_model_and_an_adapter_are_known(tmp_path: Path) -> None:
    part = pair("split.no", U16, struct.pack("<H", 1))
    parts = pair("split.count", U16, struct.pack("<H", 3))
    kind = pair("general.type", STRING, text("adapter"))
    found = read(tmp_path, head(LLAMA, kind, part, parts))
    assert (found.part, found.parts, found.kind) == (1, 3, "adapter")


HUGE = struct.pack("<Q", 2**63)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "it is cut off"),
        (b"GGU", "it is cut off"),
        (b"PK\3\4" + bytes(100), "does not begin with GGUF"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "format version is 50331648"),
        (head(LLAMA, version=1), "format version is 1"),
        (head(*FULL)[:-5], "it is cut off"),
        (head(*FULL, count=9), "it is cut off"),
        (head(count=2**60), "claims to have"),
        (head(LLAMA, pair("split.no", STRING, text("one"))), "split.no is not an integer"),
        (head(), "names no architecture"),
        (head(HUGE + b"x"), "it is cut off"),
        (head(text("key") + struct.pack("<I", 77)), "unknown type 77"),
        (head(pair("a", ARRAY, struct.pack("<I", STRING) + HUGE)), "it is cut off"),
        (head(pair("a", ARRAY, struct.pack("<I", U64) + HUGE)), "it is cut off"),
        (head(pair("a", ARRAY, struct.pack("<IQ", ARRAY, 1))), "unsupported type 9"),
    ],
)
def test_bytes_that_are_no_gguf_are_one_line(tmp_path: Path, content: bytes, part: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(tmp_path, content)
    assert part in str(caught.value)
    assert "model.gguf" in str(caught.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_gguf(tmp_path / "nowhere.gguf")
    with pytest.raises(ModelError, match="cannot be read"):
        read_gguf(tmp_path)
