"""Checkpoints made by `ragkit model quantize` with llm-compressor, served by the real vLLM.

Closeness is measured on a Llama that knows four answers by heart. Each answer must come out word
for word. The sharper measure is text that it has never seen, where no token is certain: the mean
absolute difference of its tokens' log-probabilities, between vLLM with the quantized weights in
bfloat16 and transformers with the original ones in float32.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragkit_models.vllm_methods import Offered, ask_offered
from tests.commands import run
from tests.places import ROOT
from tests.serve.vllm.memorised import ANSWERS, prompt
from tests.serve.vllm.started import FEWER_PROCESSES, Started, free_port, started

pytestmark = pytest.mark.vllm

# For scale, all within transformers: bfloat16 alone makes 0.012 of a mean of 6.7, weights rounded
# to 8 bits 0.004, to 4 bits 0.06, to 3 bits 0.15. A CPU with AVX2 alone gave 0.0703: there the
# bound tells 8 bits from 3 only. AWQ's 4 bits gave 0.075 with AVX-512.
CLOSE = {"w8a8": 0.05 if "avx512" in Path("/proc/cpuinfo").read_text() else 0.1, "awq": 0.2}
UNSEEN = prompt("Who travels before the manager?") + "Six days. 部门每年批准几天？"


def environment_python(variable: str, name: str) -> Path:
    file = Path(os.environ.get(variable, ROOT / f".venvs/{name}/bin/python"))
    if not file.exists():
        pytest.skip(f"there is no {file}: make venvs, or set {variable}")
    return file


@pytest.fixture(scope="module")
def vllm() -> Path:
    return environment_python("RAGKIT_TEST_VLLM_PYTHON", "vllm")


@pytest.fixture(scope="module")
def original(memorised: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, as what is made of it is written beside it."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    shutil.copytree(memorised, folder)
    return folder


@pytest.fixture(scope="module")
def calibration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every question with every answer, so that there are enough different samples."""
    rows = [
        {"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}]}
        for q in ANSWERS
        for a in ANSWERS.values()
    ]
    file = tmp_path_factory.mktemp("texts") / "chats.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def quantize(original: Path, scheme: str, *options: str) -> dict[str, Any]:
    """Run the command as a user types it; gives what `--json` prints."""
    python = environment_python("RAGKIT_TEST_QUANTIZE_PYTHON", "quantize")
    result = run(
        *("model", "quantize", str(original), "--scheme", scheme, "--json", *options),
        *("--python", str(python)),
        folder=original.parent,
    )
    assert result.returncode == 0, result.stderr
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


@pytest.fixture(scope="module")
def w8a8(original: Path, calibration: Path) -> dict[str, Any]:
    return quantize(original, "w8a8", "--calibration", str(calibration), "--seed", "5")


def test_the_card_and_its_json_say_what_was_done(original: Path, w8a8: dict[str, Any]) -> None:
    folder = original.parent / "tiny-w8a8"
    written = json.loads((folder / "ragkit_quantization.json").read_text(encoding="utf-8"))
    assert w8a8 == written | {"output": str(folder)}
    assert w8a8["calibration"]["file"] == "chats.jsonl"
    assert w8a8["calibration"]["samples"] == 16
    assert w8a8["seed"] == 5
    assert {"llmcompressor", "compressed-tensors", "transformers", "torch"} == {*w8a8["versions"]}
    assert w8a8["bytes_before"] == (original / "model.safetensors").stat().st_size
    assert w8a8["bytes_after"] == (folder / "model.safetensors").stat().st_size
    assert w8a8["bytes_after"] < 0.5 * w8a8["bytes_before"]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert w8a8["calibration"]["sha256"] in card
    assert "ragkit model serve ./tiny-w8a8" in card
    config = json.loads((folder / "config.json").read_text())["quantization_config"]
    assert config["quant_method"] == "compressed-tensors"
    group = config["config_groups"]["group_0"]
    assert (group["weights"]["num_bits"], group["weights"]["type"]) == (8, "int")
    assert (group["input_activations"]["num_bits"], group["input_activations"]["dynamic"]) == (
        8,
        True,
    )
    assert config["ignore"] == ["lm_head"]
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        assert (folder / name).read_bytes() == (original / name).read_bytes()


@pytest.mark.parametrize(
    ("scheme", "kind", "bits", "share"), [("w4a16", "int", 4, 0.4), ("fp8", "float", 8, 0.5)]
)
def test_the_other_schemes_are_made_as_well(
    original: Path, calibration: Path, scheme: str, kind: str, bits: int, share: float
) -> None:
    facts = quantize(original, scheme, "--calibration", str(calibration))
    assert facts["bytes_after"] < share * facts["bytes_before"]
    assert (facts["calibration"] is None) == (scheme == "fp8")
    config = json.loads((Path(facts["output"]) / "config.json").read_text())
    weights = config["quantization_config"]["config_groups"]["group_0"]["weights"]
    assert (weights["type"], weights["num_bits"]) == (kind, bits)


@pytest.fixture(scope="module")
def awq(original: Path, calibration: Path) -> dict[str, Any]:
    return quantize(original, "awq", "--calibration", str(calibration))


def test_awq_is_written_in_the_format_that_vllm_reads(awq: dict[str, Any]) -> None:
    folder = Path(awq["output"])
    assert folder.name == "tiny-awq"
    assert awq["bytes_after"] < 0.4 * awq["bytes_before"]
    config = json.loads((folder / "config.json").read_text())["quantization_config"]
    assert (config["quant_method"], config["format"]) == ("compressed-tensors", "pack-quantized")
    weights = config["config_groups"]["group_0"]["weights"]
    assert (weights["num_bits"], weights["group_size"]) == (4, 128)
    assert not weights["symmetric"]
    assert config["ignore"] == ["lm_head"]
    assert "AWQModifier" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def offered(vllm: Path) -> Offered:
    return ask_offered(vllm)


def test_the_real_vllm_says_what_it_offers(offered: Offered) -> None:
    assert offered.version.split(".")[:1] == ["0"]
    assert offered.platform == "cpu" or offered.capability is not None
    assert {"awq", "gptq", "fp8", "compressed-tensors"} <= offered.methods
    assert {"fp8_per_tensor", "fp8_per_channel"} <= offered.methods
    assert {"awq", "gptq", "fp8", "compressed-tensors"} <= offered.minimum.keys()


@pytest.fixture(scope="module", params=["w8a8", "awq"])
def server(
    request: pytest.FixtureRequest,
    vllm: Path,
    original: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Started, str]]:
    scheme: str = request.param
    folder = Path(request.getfixturevalue(scheme)["output"])
    choice = {"w8a8": "int8", "awq": "compressed-tensors"}[scheme]
    port = free_port()
    argv = [sys.executable, "-m", "ragkit", "model", "serve", str(folder), "--name", "tiny"]
    argv += ["--port", str(port), "--quantization", choice, "--dtype", "bfloat16"]
    argv += ["--max-model-len", "256", "--cpu-kv-cache-gib", "1", "--enforce-eager"]
    ours = {"RAGKIT_VLLM_PYTHON": str(vllm), "RAGKIT_LLM_API_KEY": "sk-test"}
    environment = {**os.environ, **ours, **FEWER_PROCESSES}
    log = tmp_path_factory.mktemp("log") / "server.log"
    with started(argv, environment, port=port, ready="/v1/models", log=log) as server:
        yield server, scheme


@pytest.mark.parametrize("question", ANSWERS)
def test_the_quantized_model_answers_as_the_original_does(
    server: tuple[Started, str], question: str
) -> None:
    assert server[0].chat(question)["message"]["content"] == ANSWERS[question]


def test_unseen_text_is_as_likely_as_with_the_original(
    server: tuple[Started, str], original: Path
) -> None:
    running, scheme = server
    body = {"model": "tiny", "prompt": UNSEEN, "max_tokens": 1, "prompt_logprobs": 0}
    with running.open("/v1/completions", {**body, "add_special_tokens": False}) as response:
        tokens = json.load(response)["choices"][0]["prompt_logprobs"]
    quantized = [next(iter(token.values()))["logprob"] for token in tokens[1:]]
    exact = original_logprobs(original, UNSEEN)
    assert len(quantized) == len(exact) > 20
    assert min(exact) < -5  # it has never seen this
    difference = sum(abs(a - b) for a, b in zip(quantized, exact, strict=True)) / len(exact)
    print(f"{scheme}: mean absolute difference {difference:.4f} of {-sum(exact) / len(exact):.2f}")
    assert difference < CLOSE[scheme]


def original_logprobs(folder: Path, text: str) -> list[float]:
    """Compute the log-probability of each token after the first, in float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        table = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return [table[at - 1, ids[at]].item() for at in range(1, len(ids))]
