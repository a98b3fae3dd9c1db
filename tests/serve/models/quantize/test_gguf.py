"""GGUF files from start to end, with a stand-in for llama.cpp's tools."""

import json
import os
import shutil
import sys
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit_models.gguf_header import FILE_TYPES, read_gguf
from ragkit_models.quantize.gguf import find_tools
from ragkit_models.quantize.quantize import QuantizeOptions, quantize_model
from ragkit_models.quantize.recipe import GGUF, file_type
from tests.commands import run

STAND_IN = Path(__file__).with_name("gguf_tools_stand_in.py")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python that claims to have whatever it is asked for."""
    file = tmp_path / "python"
    file.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit 0\nexec {sys.executable} "$@"\n')
    file.chmod(0o755)
    return file


@pytest.fixture
def llamacpp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of llama.cpp's source, with a built llama-quantize; there is no other one."""
    folder = tmp_path / "llama.cpp"
    (folder / "gguf-py").mkdir(parents=True)
    (folder / "gguf-py" / "pyproject.toml").write_text('[tool.poetry]\nversion = "0.19.0"\n')
    shutil.copy(STAND_IN, folder / "convert_hf_to_gguf.py")
    program(folder / "build" / "bin")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return folder


def program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    file = folder / "llama-quantize"
    file.write_text(f"#!{sys.executable}\n{STAND_IN.read_text(encoding='utf-8')}")
    file.chmod(0o755)
    return file


@pytest.fixture
def options(tmp_path: Path, llamacpp: Path) -> QuantizeOptions:
    model = tmp_path / "tiny"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(bytes(1000))
    (model / "LICENSE.txt").write_text("terms")
    (model / "pytorch_model.bin").write_bytes(b"a pickle")
    (model / "tokenization_tiny.py").write_text("raise SystemExit")
    (tmp_path / "made").mkdir()
    return QuantizeOptions(
        model=str(model),
        scheme="gguf-q4_k_m",
        output=tmp_path / "made" / "out",
        llamacpp=llamacpp,
    )


def make(options: QuantizeOptions, python: Path) -> tuple[Path, list[str]]:
    stages: list[str] = []
    output, _ = quantize_model(options, python=python, progress=stages.append)
    return output, stages


def facts(output: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((output / "ragkit_quantization.json").read_text("utf-8"))
    return values


def test_a_file_is_converted_and_quantized_and_appears_with_its_card(
    options: QuantizeOptions, python: Path
) -> None:
    output, stages = make(options, python)
    assert stages == [
        "reading the model",
        "converting to GGUF",
        "converting to GGUF, 50 %",
        "converting to GGUF, 100 %",
        "quantizing",
        "quantizing tensor 1 of 2",
    ]
    names = ["LICENSE.txt", "README.md", "ragkit_quantization.json", "tiny-Q4_K_M.gguf"]
    assert sorted(file.name for file in output.iterdir()) == names
    assert os.listdir(output.parent) == ["out"]  # nothing unfinished is left
    values = facts(output)
    assert values["file"] == "tiny-Q4_K_M.gguf"
    assert values["recipe"].splitlines() == [
        "convert_hf_to_gguf.py tiny --outtype auto --outfile tiny-16-bit.gguf",
        "llama-quantize tiny-16-bit.gguf tiny-Q4_K_M.gguf Q4_K_M",
    ]
    assert values["versions"]["llama.cpp's gguf"] == "0.19.0"
    assert values["versions"]["llama-quantize"] == "9.9 (build 5, commit abc)"
    assert (values["bytes_before"], values["calibration"]) == (1000, None)
    assert values["bytes_after"] == (output / "tiny-Q4_K_M.gguf").stat().st_size
    card = (output / "README.md").read_text(encoding="utf-8")
    assert "  - llama.cpp\n  - gguf\n  - q4_k_m\n" in card
    assert "with llama.cpp.\n" in card
    assert card.count("ragkit model serve ./out/tiny-Q4_K_M.gguf") == 2
    assert "vLLM" not in card


@pytest.mark.parametrize("scheme", ["gguf-f16", "gguf-q8_0"])
def test_the_converter_alone_makes_f16_and_q8_0(
    options: QuantizeOptions, python: Path, llamacpp: Path, scheme: Any
) -> None:
    shutil.rmtree(llamacpp / "build")
    output, _ = make(replace(options, scheme=scheme), python)
    made = output / f"tiny-{file_type(scheme)}.gguf"
    assert read_gguf(made).quantization == file_type(scheme)
    assert "llama-quantize" not in facts(output)["versions"]


def test_every_scheme_is_a_type_of_llamacpp() -> None:
    assert {file_type(scheme) for scheme in GGUF} <= {*FILE_TYPES.values()}


@pytest.mark.parametrize("trusted", [False, True])
def test_the_converter_sees_the_models_code_only_when_it_is_trusted(
    options: QuantizeOptions, python: Path, llamacpp: Path, trusted: bool
) -> None:
    make(replace(options, trust_remote_code=trusted), python)
    seen = json.loads((llamacpp / "seen.json").read_text())
    files = ["LICENSE.txt", "config.json", "model.safetensors"]
    assert seen["files"] == [*files, *(["tokenization_tiny.py"] if trusted else [])]
    assert (seen["offline"] == "1") == (not trusted)


def test_the_quantizer_is_the_built_one_then_the_library_then_the_path(
    llamacpp: Path, python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quantizer(library: Path | None) -> Path | None:
        return find_tools("gguf-q6_k", llamacpp=llamacpp, python=python, library=library).quantizer

    assert quantizer(python) == llamacpp / "build" / "bin" / "llama-quantize"
    shutil.rmtree(llamacpp / "build")
    on_path = program(tmp_path / "programs")
    monkeypatch.setenv("PATH", f"{on_path.parent}:/usr/bin:/bin")
    assert quantizer(python) == python
    assert quantizer(None) == on_path
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(ModelError, match=r"cmake --build .*PATH.*RAGKIT_LLAMACPP_PYTHON"):
        quantizer(None)


def test_what_is_missing_is_one_line_with_its_remedy(
    options: QuantizeOptions, python: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"needs --llamacpp DIR.*git clone .*ggml-org/llama\.cpp"):
        make(replace(options, llamacpp=None), python)
    with pytest.raises(ModelError, match=r"has no convert_hf_to_gguf\.py: .*git clone"):
        make(replace(options, llamacpp=tmp_path), python)
    with pytest.raises(ModelError, match=r"--python .* cannot be run: .*sentencepiece"):
        make(options, tmp_path / "nowhere")
    with pytest.raises(UsageError, match="--ignore is for llm-compressor's schemes"):
        make(replace(options, ignore=("lm_head",)), python)


@pytest.mark.parametrize(
    ("config", "wrong", "reason"),
    [
        ('{"fail": 1}', "", "llama.cpp's converter failed: NotImplementedError: BPE pre-tokenizer"),
        ("{}", "1", "llama.cpp wrote F16 instead of Q4_K_M"),
    ],
)
def test_a_failing_tool_is_one_line_and_leaves_nothing(
    options: QuantizeOptions,
    python: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: str,
    wrong: str,
    reason: str,
) -> None:
    Path(options.model, "config.json").write_text(config)
    monkeypatch.setenv("STAND_IN_WRONG", wrong)
    with pytest.raises(ModelError) as caught:
        make(options, python)
    assert str(caught.value).startswith(reason)
    assert "\n" not in str(caught.value)
    assert os.listdir(options.output.parent if options.output else "") == []


def test_the_disk_must_hold_the_file_of_16_bits_as_well(
    options: QuantizeOptions, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(2000, 600, 1400))
    with pytest.raises(ModelError, match=r"GB free and up to .* GB are needed"):
        make(options, python)
    make(replace(options, scheme="gguf-q8_0"), python)


@pytest.mark.parametrize("template", [True, False])
def test_the_command_says_how_the_file_is_served(
    options: QuantizeOptions, python: Path, tmp_path: Path, template: bool
) -> None:
    Path(options.model, "config.json").write_text(json.dumps({"template": template}))
    result = run(
        *("model", "quantize", options.model, "--scheme", "gguf-q8_0"),
        *("--llamacpp", str(options.llamacpp), "--python", str(python), "--output", "out"),
        folder=tmp_path / "made",
    )
    assert result.returncode == 0, result.stderr
    first, last = result.stdout.splitlines()
    made = tmp_path / "made" / "out" / "tiny-Q8_0.gguf"
    assert first.startswith(f"{made}: 0.0 MB of weights")
    assert (last == f"Serve it with: ragkit model serve {made}") == template
    assert ("has no chat template" in last) == (not template)
