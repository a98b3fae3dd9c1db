"""Choosing a quantization: the rules as values, and the question to a vLLM that a script plays."""

import json
import sys
from pathlib import Path

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit_models.checkpoint import Checkpoint, parse_checkpoint, read_checkpoint
from ragkit_models.quantization import Method, choose_quantization, require_quantization
from ragkit_models.vllm_methods import Offered, ask_offered, read_offered

# What vLLM 0.32 has in QUANTIZATION_METHODS, as far as it matters here.
CORE = frozenset(
    {"awq", "gptq", "fp8", "compressed-tensors", "fp8_per_tensor", "fp8_per_channel"}
    | {"int8_per_channel_weight_only"}
)
MINIMUM = {"awq": 75, "gptq": 60, "fp8": 75, "compressed-tensors": 70}  # get_min_capability()
CPU = Offered("0.32.0", "cpu", methods=CORE, minimum=MINIMUM)
ARM = Offered("0.32.0", "cpu", machine="aarch64", methods=CORE, minimum=MINIMUM)
H100 = Offered("0.32.0", "cuda", capability=90, methods=CORE, minimum=MINIMUM)
A100 = Offered("0.32.0", "cuda", capability=80, methods=CORE, minimum=MINIMUM)
V100 = Offered("0.32.0", "cuda", capability=70, methods=CORE, minimum=MINIMUM)
ROCM = Offered("0.32.0", "rocm", methods=CORE - {"int8_per_channel_weight_only"})

PLAIN = Checkpoint()
W8A8 = Checkpoint("compressed-tensors", "int8")
W4A16 = Checkpoint("compressed-tensors", "int4")
FP8_MADE = Checkpoint("compressed-tensors", "float8")


@pytest.mark.parametrize(
    ("method", "checkpoint", "offered", "name"),
    [
        ("awq", Checkpoint("awq"), CPU, "awq"),
        ("awq", Checkpoint("awq"), H100, "awq"),
        ("gptq", Checkpoint("gptq"), V100, "gptq"),
        ("fp8", PLAIN, H100, "fp8_per_tensor"),
        ("fp8", PLAIN, A100, "fp8_per_tensor"),  # weight-only, by Marlin
        ("fp8", PLAIN, CPU, "fp8_per_channel"),
        ("fp8", Checkpoint("fp8"), H100, "fp8"),
        ("fp8", FP8_MADE, H100, "compressed-tensors"),
        ("int8", W8A8, CPU, "compressed-tensors"),
        ("int8", W8A8, ARM, "compressed-tensors"),
        ("int8", Checkpoint(experts=True), H100, "int8_per_channel_weight_only"),
        ("compressed-tensors", W4A16, CPU, "compressed-tensors"),
        ("compressed-tensors", W4A16, ROCM, "compressed-tensors"),
        # Of a hub name of which nothing is here, vLLM itself has the last word.
        ("awq", None, H100, "awq"),
        ("fp8", None, H100, "fp8_per_tensor"),
        ("int8", None, CPU, "compressed-tensors"),
    ],
)
def test_a_choice_becomes_vllms_own_name(
    method: Method, checkpoint: Checkpoint | None, offered: Offered, name: str
) -> None:
    arguments = choose_quantization(method, checkpoint, offered, model="m")
    assert arguments == ("--quantization", name)


def test_a_vllm_without_online_names_gets_the_old_one() -> None:
    old = Offered("0.12.0", "cuda", capability=90, methods=frozenset({"fp8", "awq"}))
    assert choose_quantization("fp8", PLAIN, old, model="m") == ("--quantization", "fp8")


@pytest.mark.parametrize(
    ("method", "checkpoint", "parts"),
    [
        ("awq", PLAIN, ("not quantized", "ragkit model quantize m --scheme awq")),
        ("int8", PLAIN, ("not quantized", "ragkit model quantize m --scheme w8a8")),
        ("compressed-tensors", PLAIN, ("not quantized", "ragkit model quantize m")),
        ("gptq", Checkpoint("awq"), ("quantized as awq", "leave --quantization out")),
        ("int8", W4A16, ("compressed-tensors int4", "leave --quantization out")),
        ("fp8", W8A8, ("compressed-tensors int8", "leave --quantization out")),
        ("awq", Checkpoint("gguf"), ("GGUF", "--engine llamacpp")),
        ("gguf", PLAIN, ("not a .gguf file",)),
    ],
)
def test_a_choice_that_the_files_contradict_is_one_line(
    method: Method, checkpoint: Checkpoint, parts: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as caught:
        choose_quantization(method, checkpoint, H100, model="m")
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "checkpoint", "offered", "parts"),
    [
        ("gguf", Checkpoint("gguf"), H100, ("vllm-gguf-plugin", "0.24", "--engine llamacpp")),
        ("gguf", Checkpoint("gguf"), CPU, ("for a CPU", "--engine llamacpp")),
        ("bitsandbytes", PLAIN, H100, ("vllm-bnb-plugin", "0.28", "awq, gptq or fp8")),
        ("bitsandbytes", PLAIN, CPU, ("for a CPU", "awq, gptq or int8")),
        ("awq", Checkpoint("awq"), V100, ("7.5", "7.0", "gptq")),
        ("fp8", PLAIN, V100, ("7.5", "7.0", "gptq")),
        ("int8", W8A8, V100, ("7.5", "7.0")),
        ("awq", Checkpoint("awq"), ARM, ("aarch64", "int8", "--scheme w8a8")),
        ("int8", Checkpoint(experts=True), ROCM, ("rocm", "does not offer int8")),
    ],
)
def test_what_this_vllm_or_hardware_lacks_is_one_line(
    method: Method, checkpoint: Checkpoint, offered: Offered, parts: tuple[str, ...]
) -> None:
    with pytest.raises(ModelError) as caught:
        choose_quantization(method, checkpoint, offered, model="m")
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plug_in_brings_its_method_back() -> None:
    with_both = Offered(
        "0.32.0",
        "cuda",
        capability=80,
        methods=CORE | {"gguf", "bitsandbytes"},
        plugins=frozenset({"vllm-gguf-plugin", "vllm-bnb-plugin"}),
    )
    gguf = choose_quantization("gguf", Checkpoint("gguf"), with_both, model="m.gguf")
    assert gguf == ("--quantization", "gguf", "--load-format", "gguf")
    bnb = choose_quantization("bitsandbytes", PLAIN, with_both, model="m")
    assert bnb == ("--quantization", "bitsandbytes", "--load-format", "bitsandbytes")


def test_a_plug_in_that_registers_nothing_is_named() -> None:
    silent = Offered(
        "0.32.0", "cuda", capability=80, methods=CORE, plugins=frozenset({"vllm-gguf-plugin"})
    )
    with pytest.raises(ModelError, match=r"installed but registers no gguf.*VLLM_PLUGINS"):
        choose_quantization("gguf", Checkpoint("gguf"), silent, model="m.gguf")


def test_an_unknown_method_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'int4' is unknown: choose one of awq, gptq, fp8, int8"):
        require_quantization("int4", Path(sys.executable), model=str(tmp_path))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, Checkpoint()),
        ({"num_local_experts": 8}, Checkpoint(experts=True)),
        ({"text_config": {"num_experts": 128}}, Checkpoint(experts=True)),
        ({"num_experts_per_tok": 2}, Checkpoint()),
        ({"quantization_config": {"quant_method": "awq"}}, Checkpoint("awq")),
        ({"quantization_config": {"quant_method": "GPTQ"}}, Checkpoint("gptq")),
        (
            {"compression_config": {"quant_method": "compressed_tensors"}},
            Checkpoint("compressed-tensors"),
        ),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
                }
            },
            FP8_MADE,
        ),
        ({"text_config": {"quantization_config": {"quant_method": "fp8"}}}, Checkpoint("fp8")),
        ({"quantization_config": {"bits": 4}}, Checkpoint("unknown")),
    ],
)
def test_a_configuration_says_how_a_model_is_quantized(
    config: dict[str, object], expected: Checkpoint
) -> None:
    assert parse_checkpoint(config) == expected


def test_a_checkpoint_is_read_from_a_folder_or_a_files_name(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"quantization_config": {"quant_method": "awq"}}')
    assert read_checkpoint(str(tmp_path)) == Checkpoint("awq")
    assert read_checkpoint(str(tmp_path / "model.Q4_K_M.gguf")) == Checkpoint("gguf")
    assert read_checkpoint("nobody/never-downloaded") is None
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be read as JSON"):
        read_checkpoint(str(tmp_path))
    (tmp_path / "config.json").unlink()
    with pytest.raises(ModelError, match=r"no config\.json"):
        read_checkpoint(str(tmp_path))


ANSWER = {
    "version": "0.32.0",
    "platform": "rocm",
    "machine": "x86_64",
    "capability": None,
    "methods": ["awq", "fp8", "experts_int8"],
    "supported": ["awq", "fp8"],
    "minimum": {"awq": 75},
    "plugins": [],
}


def test_the_platforms_own_list_limits_the_methods() -> None:
    python = Path("/opt/vllm/bin/python")
    assert read_offered(json.dumps(ANSWER), python=python).methods == {"awq", "fp8"}
    everything = json.dumps({**ANSWER, "supported": []})
    assert read_offered(everything, python=python).methods == {"awq", "fp8", "experts_int8"}


def test_an_environment_without_vllm_is_one_line() -> None:
    with pytest.raises(ModelError, match=r"no vLLM in the environment of .*RAGKIT_VLLM_PYTHON"):
        ask_offered(Path(sys.executable))


def test_an_interpreter_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot be run.*RAGKIT_VLLM_PYTHON"):
        ask_offered(tmp_path / "python")


def test_a_vllm_that_breaks_or_hangs_is_one_line(tmp_path: Path) -> None:
    broken = _script(tmp_path / "broken", "import sys; sys.exit('ImportError: libcuda.so.1')")
    with pytest.raises(ModelError, match=r"cannot be used: ImportError: libcuda\.so\.1"):
        ask_offered(broken)
    hanging = _script(tmp_path / "hanging", "import threading; threading.Event().wait()")
    with pytest.raises(ModelError, match="did not answer within 0 s"):
        ask_offered(hanging, timeout_s=0.3)


def _script(file: Path, code: str) -> Path:
    file.write_text(f"#!{sys.executable}\n{code}\n")
    file.chmod(0o755)
    return file
