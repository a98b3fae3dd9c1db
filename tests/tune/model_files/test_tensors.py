"""Files of safetensors read and written tensor by tensor, and damaged ones."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ragkit.errors import ModelError, UsageError
from ragkit_tune.model_files.tensors import Stored, is_finite, open_tensors, write_tensors

TENSORS = {
    "b.float": torch.tensor([[1.5, -2.0], [0.25, 3.0]]),
    "a.half": torch.tensor([1.0, 2.0, 3.0]).half(),
    "c.brain": torch.tensor([1.0, -7.0, 3.0]).bfloat16(),
    "d.number": torch.tensor(7.0, dtype=torch.float64),
    "e.whole": torch.arange(5),
    "f.flag": torch.tensor([True, False, True]),
    "g.none": torch.empty(0, 4),
}


def test_a_file_is_that_of_the_library(tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "model.safetensors", metadata={"format": "pt"})
    folder = open_tensors(tmp_path, "m")
    assert folder.bytes == sum(tensor.nbytes for tensor in TENSORS.values())
    write_tensors(tmp_path / "copy.safetensors", folder.table, folder.read)
    copy = load_file(tmp_path / "copy.safetensors")
    assert copy.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert copy[name].dtype == tensor.dtype
        assert torch.equal(copy[name], tensor)


def test_one_tensor_at_a_time_is_asked_for(tmp_path: Path) -> None:
    table = {name: Stored((1000, 100), "F32") for name in "abc"}
    names = []

    def read(name: str) -> torch.Tensor:
        names.append((name, (tmp_path / "out").stat().st_size > 300_000))
        return torch.zeros(1000, 100)

    write_tensors(tmp_path / "out", table, read)
    assert names == [("a", False), ("b", True), ("c", True)]


def test_files_that_are_missing_damaged_or_quantized_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model m has no \*\.safetensors in"):
        open_tensors(tmp_path, "m")
    (tmp_path / "model.safetensors").write_bytes(b"12345678910")
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read"):
        open_tensors(tmp_path, "m")
    save_file({"a": torch.zeros(2).to(torch.float8_e4m3fn)}, tmp_path / "model.safetensors")
    with pytest.raises(UsageError, match="m: a is stored as F8_E4M3: name the original"):
        open_tensors(tmp_path, "m")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    save_file({"a": torch.zeros(2)}, tmp_path / "model-1.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    with pytest.raises(ModelError, match=r"model m has no model-2\.safetensors, which its index"):
        open_tensors(tmp_path, "m")
    index["weight_map"]["b"] = "../model-2.safetensors"
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    with pytest.raises(ModelError, match="names files of other folders"):
        open_tensors(tmp_path, "m")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_numbers_that_are_not_finite_are_seen(dtype: torch.dtype) -> None:
    assert is_finite(torch.tensor([[-1.0, 2.0]], dtype=dtype))
    assert is_finite(torch.tensor([-60000.0, -60000.0], dtype=dtype))  # whose sum overflows
    for value in (float("nan"), float("inf"), float("-inf")):
        assert not is_finite(torch.tensor([[1.0, value, 2.0]], dtype=dtype))
    assert is_finite(torch.tensor(3))
    assert is_finite(torch.empty(0, dtype=dtype))
