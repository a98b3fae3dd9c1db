"""A quantization from start to end, with a stand-in for the environment of llm-compressor."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from ragkit.errors import ModelError, RagkitError, UsageError
from ragkit_models.quantize.process import find_interpreter
from ragkit_models.quantize.quantize import QuantizeOptions, quantize_model

STAND_IN = Path(__file__).with_name("worker_stand_in.py")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    file = tmp_path / "python"
    file.write_text(f"#!{sys.executable}\n{STAND_IN.read_text(encoding='utf-8')}")
    file.chmod(0o755)
    return file


@pytest.fixture
def options(tmp_path: Path) -> QuantizeOptions:
    model = tmp_path / "tiny"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "llama"}')
    (model / "model.safetensors").write_bytes(b"12345678")
    (model / "tokenizer.json").write_text('{"truncation": null}')
    (model / "model.safetensors.index.json").write_text("{}")
    (model / "LICENSE.txt").write_text("terms")
    (model / "code.py").write_text("raise SystemExit")
    texts = tmp_path / "texts.txt"
    texts.write_text("\n\n".join(f"Paragraph {n}. 第{n}段。" for n in range(40)), encoding="utf-8")
    (tmp_path / "made").mkdir()
    return QuantizeOptions(
        model=str(model), scheme="w8a8", calibration=texts, output=tmp_path / "made" / "out"
    )


def make(options: QuantizeOptions, python: Path) -> tuple[Path, list[str]]:
    stages: list[str] = []
    output, _ = quantize_model(options, python=python, progress=stages.append)
    return output, stages


def test_a_checkpoint_appears_with_its_card_and_the_models_own_files(
    options: QuantizeOptions, python: Path, tmp_path: Path
) -> None:
    output, stages = make(replace(options, samples=20, seed=3), python)
    assert output == tmp_path / "made" / "out"
    assert stages == [
        "reading the model",
        "loading the model",
        "calibrating layer group 1 of 3",
        "calibrating layer group 1 of 3",
    ]
    assert sorted(file.name for file in output.iterdir()) == [
        "LICENSE.txt",
        "README.md",
        "config.json",
        "model.safetensors",
        "ragkit_quantization.json",
        "tokenizer.json",
    ]
    assert (output / "model.safetensors").read_bytes() == b"half"
    assert (output / "config.json").read_text() == "{}"  # the worker's, not the original's
    assert (output / "tokenizer.json").read_text() == '{"truncation": null}'
    assert os.listdir(output.parent) == ["out"]  # nothing unfinished is left
    facts = json.loads((output / "ragkit_quantization.json").read_text(encoding="utf-8"))
    assert facts["base_model"] == "tiny"
    assert (facts["bytes_before"], facts["bytes_after"]) == (8, 4)
    assert facts["seed"] == 3
    assert facts["calibration"]["samples"] == 20
    assert facts["calibration"]["tokens"] == 200
    assert facts["calibration"]["file"] == "texts.txt"
    assert "# out" in (output / "README.md").read_text(encoding="utf-8")


def test_the_models_own_code_travels_only_when_it_is_trusted(
    options: QuantizeOptions, python: Path
) -> None:
    output, _ = make(replace(options, trust_remote_code=True), python)
    assert (output / "code.py").exists()


def test_fp8_reads_no_calibration(options: QuantizeOptions, python: Path) -> None:
    output, _ = make(replace(options, scheme="fp8", calibration=Path("nowhere.txt")), python)
    facts = json.loads((output / "ragkit_quantization.json").read_text(encoding="utf-8"))
    assert facts["calibration"] is None


@pytest.mark.parametrize("scheme", ["w8a8", "w4a16", "awq"])
def test_a_calibrated_scheme_needs_a_file(
    options: QuantizeOptions, python: Path, scheme: str
) -> None:
    without = replace(options, scheme=scheme, calibration=None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"--scheme {scheme} needs --calibration FILE"):
        make(without, python)


def test_an_output_is_replaced_only_by_force_and_only_if_it_was_made_here(
    options: QuantizeOptions, python: Path
) -> None:
    output, _ = make(options, python)
    (output / "old").touch()
    with pytest.raises(UsageError, match=r"exists already.*--force"):
        make(options, python)
    assert (output / "old").exists()
    make(replace(options, force=True), python)
    assert not (output / "old").exists()
    assert os.listdir(output.parent) == ["out"]
    (output / "ragkit_quantization.json").unlink()
    with pytest.raises(UsageError, match="was not made by `ragkit model quantize`"):
        make(replace(options, force=True), python)


def test_by_default_the_output_is_named_after_model_and_scheme(
    options: QuantizeOptions, python: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path / "made")
    output, _ = make(replace(options, output=None), python)
    assert output == tmp_path / "made" / "tiny-w8a8"


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("fail", "llm-compressor failed: ValueError: this architecture is not supported"),
        ("die", "llm-compressor failed: killed by SIGKILL"),
    ],
)
def test_a_failing_worker_is_one_line_and_leaves_nothing(
    options: QuantizeOptions, python: Path, behaviour: str, reason: str
) -> None:
    with pytest.raises(ModelError) as caught:
        make(replace(options, ignore=(behaviour,)), python)
    assert str(caught.value).startswith(reason)
    assert "\n" not in str(caught.value)
    assert os.listdir(options.output.parent if options.output else "") == []


def test_a_full_disk_is_seen_before_the_work(
    options: QuantizeOptions, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(8, 1, 7))
    with pytest.raises(ModelError, match=r"GB free and up to .* GB are needed"):
        make(options, python)


@pytest.mark.parametrize(
    ("config", "weights", "error", "part"),
    [
        ('{"quantization_config": {"quant_method": "awq"}}', True, UsageError, "already (awq)"),
        ("{}", False, ModelError, "has no *.safetensors"),
        (None, True, ModelError, "has no config.json"),
    ],
)
def test_a_model_that_cannot_be_quantized_is_one_line(
    options: QuantizeOptions,
    python: Path,
    config: str | None,
    weights: bool,
    error: type[RagkitError],
    part: str,
) -> None:
    folder = Path(options.model)
    (folder / "config.json").unlink()
    if config is not None:
        (folder / "config.json").write_text(config)
    if not weights:
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(error) as caught:
        make(options, python)
    assert part in str(caught.value)


def test_a_model_folder_that_is_not_there_is_one_line(
    options: QuantizeOptions, python: Path
) -> None:
    with pytest.raises(ModelError, match=r"\./nowhere does not exist"):
        make(replace(options, model="./nowhere"), python)


def test_without_llm_compressor_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"ragkit\[quantize\].*--python"):
        find_interpreter(None)
    with pytest.raises(ModelError, match="cannot import llmcompressor: pip install llmcompressor"):
        find_interpreter(Path(sys.executable))
    with pytest.raises(ModelError, match="cannot be run"):
        find_interpreter(tmp_path / "nowhere")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_worker_and_leaves_nothing(
    options: QuantizeOptions, python: Path, number: signal.Signals
) -> None:
    assert options.output is not None
    command = [sys.executable, "-m", "ragkit", "model", "quantize", options.model]
    command += ["--scheme", "w8a8", "--calibration", str(options.calibration)]
    command += ["--output", str(options.output), "--ignore", "hang"]
    command += ["--python", str(python)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        worker = _wait_for(Path(options.model) / "worker.pid", running)
        running.send_signal(number)
        _, said = running.communicate(timeout=30)
    assert running.returncode == (130 if number is signal.SIGINT else 143)
    assert "Traceback" not in said
    assert os.listdir(options.output.parent) == []
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def _wait_for(file: Path, running: "subprocess.Popen[str]") -> int:
    """Poll for the process id that a hanging worker writes down."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and running.poll() is None:
        if file.exists() and file.read_text():
            return int(file.read_text())
        time.sleep(0.05)
    raise AssertionError("the worker never started")
