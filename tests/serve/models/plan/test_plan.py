"""What must hold of any plan, and what the command prints."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit.errors import ModelError, UsageError
from ragkit.model_size.hardware import GIB
from ragkit_models.plan.fit import Plan, Row, Target, make_plan
from ragkit_models.plan.scheme import SCHEMES
from tests.core.model_size.configs import KNOWN, SMALL

LLAMA = KNOWN["meta-llama/Llama-3.1-8B"].config | {"max_position_embeddings": 8192}
CARD = Target(memory_bytes=24 * GIB, context=8192, concurrency=6)
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128}


def rows(plan: Plan) -> dict[str, Row]:
    return {row.scheme.name: row for row in plan.rows}


def test_a_plan_for_a_card() -> None:
    plan = make_plan(LLAMA, CARD)
    by_name = rows(plan)
    assert list(by_name) == [one.name for one in SCHEMES]
    assert by_name["bf16"].weights == 16_060_522_496
    assert by_name["bf16"].cache == 6 * 8192 * 131_072
    assert not by_name["bf16"].fits  # 15.0 + 6 + 1.2 GiB are more than 21.6
    assert by_name["bf16"].longest < 8192 <= by_name["w4a16"].longest
    assert [name for name, row in by_name.items() if row.fits] == [one.name for one in SCHEMES[1:]]
    assert plan.best is by_name["fp8"]
    assert plan.checked


def test_a_processor_has_other_choices() -> None:
    plan = make_plan(LLAMA, replace(CARD, on_gpu=False, concurrency=1))
    gguf = ["gguf Q8_0", "gguf Q6_K", "gguf Q5_K_M", "gguf Q4_K_M"]
    assert list(rows(plan)) == ["bf16", "w8a8", "w4a16", *gguf]
    assert plan.best is rows(plan)["gguf Q4_K_M"]
    several = make_plan(LLAMA, replace(CARD, on_gpu=False))
    assert several.best is rows(several)["w4a16"]  # llama.cpp answers one at a time
    crowd = make_plan(LLAMA, replace(CARD, on_gpu=False, concurrency=32))
    assert (crowd.best, crowd.one_at_a_time) == (None, rows(crowd)["gguf Q8_0"])
    assert crowd.longest == rows(crowd)["w4a16"].longest


def test_cards_share_what_one_could_not_hold() -> None:
    whole = KNOWN["meta-llama/Llama-3.1-70B"].config | {"max_position_embeddings": 8192}
    target = Target(memory_bytes=80 * GIB, context=8192, concurrency=4)
    assert [make_plan(whole, replace(target, gpus=n)).rows[0].fits for n in (1, 2, 4)] == [
        False,
        False,
        True,
    ]
    with pytest.raises(UsageError, match=r"64 attention heads, 8 of them .* shared by 3 GPUs"):
        make_plan(whole, replace(target, gpus=3))


@settings(deadline=None, max_examples=25)
@given(
    context=st.integers(16, 4096),
    concurrency=st.integers(1, 64),
    more=st.integers(1, 64),
    # With 70 GiB vLLM takes larger steps, which need more than a little less memory leaves.
    memory_gib=st.integers(4, 80).filter(lambda gib: gib != 70),
)
def test_more_never_fits_where_less_does_not(
    context: int, concurrency: int, more: int, memory_gib: int
) -> None:
    small = SMALL["llama"] | {"num_hidden_layers": 1, "vocab_size": 5_000_000, "head_dim": 4096}
    target = Target(memory_bytes=memory_gib * GIB, context=context, concurrency=concurrency)
    plan = make_plan(small | {"max_position_embeddings": 8192}, target)
    for larger in (
        replace(target, context=context + more),
        replace(target, concurrency=concurrency + more),
        replace(target, others_bytes=more * 2**27),
        replace(target, memory_bytes=target.memory_bytes - more * 2**20),
    ):
        for row, other in zip(
            plan.rows,
            make_plan(small | {"max_position_embeddings": 8192}, larger).rows,
            strict=True,
        ):
            assert other.free <= row.free
            assert other.longest <= row.longest
            assert row.fits or not other.fits
    for row in plan.rows:
        assert row.fits == (row.longest >= context) == (row.free >= 0)


def test_helpers_keep_their_part_of_the_card() -> None:
    alone = make_plan(LLAMA, CARD)
    with_little = make_plan(LLAMA, replace(CARD, others_bytes=GIB))
    with_much = make_plan(LLAMA, replace(CARD, others_bytes=4 * GIB))
    # vLLM takes a part of the whole card; what it leaves is enough for one more GiB, not for four.
    assert (alone.share, with_little.share, with_much.share) == (0.9, 0.9, 0.83)
    assert with_much.rows[0].free < alone.rows[0].free
    assert make_plan(LLAMA, replace(CARD, others_bytes=30 * GIB)).share == 0


def test_a_quantized_checkpoint_has_one_row_its_own() -> None:
    plan = make_plan(LLAMA | {"quantization_config": AWQ}, CARD)
    assert [(row.scheme.name, row.fits) for row in plan.rows] == [("awq", True)]
    exact = make_plan(LLAMA | {"quantization_config": AWQ}, CARD, files_bytes=5_700_000_000)
    assert exact.rows[0].weights == 5_700_000_000
    with pytest.raises(UsageError, match="quantized by awq, not by fp8"):
        make_plan(LLAMA | {"quantization_config": AWQ}, replace(CARD, quantization="fp8"))


def test_one_quantization_alone() -> None:
    for option, names in {
        "int8": ["w8a8"],
        "gptq": ["w4a16"],
        "gguf": ["gguf Q8_0", "gguf Q6_K", "gguf Q5_K_M", "gguf Q4_K_M"],
    }.items():
        assert list(rows(make_plan(LLAMA, replace(CARD, quantization=option)))) == names
    with pytest.raises(UsageError, match=r"no plan for --quantization 'no'.* choose one of bf16"):
        make_plan(LLAMA, replace(CARD, quantization="no"))


def test_an_architecture_whose_cache_nobody_checked_is_marked() -> None:
    plan = make_plan({"model_type": "persimmon", "num_hidden_layers": 2}, CARD)
    assert (plan.architecture, plan.checked) == ("persimmon", False)


def test_nonsense_is_one_line() -> None:
    with pytest.raises(UsageError, match="reads at most 8192 tokens, not 9000"):
        make_plan(LLAMA, replace(CARD, context=9000))
    odd: list[dict[str, Any]] = [
        {"hidden_size": "large"},
        {"num_hidden_layers": 10**9},
        {"num_attention_heads": 0},
        {"hidden_size": -8},
        {"text_config": 3},
        {"num_hidden_layers": None},
    ]
    for wrong in odd:
        with pytest.raises((ModelError, UsageError)) as raised:
            make_plan(LLAMA | wrong, CARD)
        assert "\n" not in str(raised.value)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing of a model but its configuration, and the working folder above it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text(json.dumps(LLAMA))
    return tmp_path / "m"


def run(*options: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["model", "plan", "m", *options])
    assert done.exit_code == code, done.output
    return done.stdout


def test_the_command_says_what_fits_and_how_to_serve_it(folder: Path) -> None:
    said = run("--gpu", "24GB", "--concurrency", "6")
    assert "8,030,261,248 parameters" in said
    assert "KV cache: 128 KiB a token" in said
    assert said.splitlines()[-1] == (
        "ragkit model serve m --max-model-len 8192 --max-num-seqs 6 --quantization fp8"
        " --gpu-memory-utilization 0.9"
    )
    assert max(len(line.rstrip()) for line in said.splitlines()[:-1]) <= 100
    two = run("--gpu", "24GB", "--gpus", "2", "--kv-cache-dtype", "fp8", "--quantization", "bf16")
    assert two.splitlines()[-1] == (
        "ragkit model serve m --max-model-len 8192 --max-num-seqs 4 --kv-cache-dtype fp8"
        " --gpu-memory-utilization 0.9 --tensor-parallel-size 2"
    )
    cpu = run("--ram", "32GB", "--context", "2048", "--concurrency", "2")
    assert cpu.splitlines()[-2:] == [
        "ragkit model quantize m --scheme w4a16 --calibration FILE",
        "ragkit model serve m-w4a16 --max-model-len 2048 --max-num-seqs 2 --cpu-kv-cache-gib 1",
    ]
    laptop = run("--ram", "16GB")
    assert laptop.splitlines()[-3:] == [
        "Take a GGUF file that is ready, or make one with llama.cpp's source in DIR:",
        "ragkit model quantize m --scheme gguf-q4_k_m --llamacpp DIR",
        "ragkit model serve m-gguf-q4_k_m/m-Q4_K_M.gguf --engine llamacpp --max-model-len 8192",
    ]


def test_every_command_is_one_that_serve_and_quantize_take(folder: Path) -> None:
    """Parse what the plan prints with the commands that it is meant for."""
    found = json.loads(run("--gpu", "80GB", "--gpus", "2", "--kv-cache-dtype", "fp8", "--json"))
    found["schemes"] += json.loads(run("--ram", "64GB", "--json"))["schemes"]
    group = typer.main.get_command(app)
    for line in [line for row in found["schemes"] for line in row["commands"]]:
        words = line.split()
        assert words[:2] == ["ragkit", "model"]
        with group.make_context("ragkit", words[1:]) as outer:
            _, models, rest = group.resolve_command(outer, words[1:])  # type: ignore[attr-defined]
            with models.make_context("model", rest, parent=outer) as inner:
                _, command, left = models.resolve_command(inner, rest)
                command.make_context(words[2], left, parent=inner)


def test_the_result_as_json(folder: Path) -> None:
    listed = json.loads(run("--gpu", "2GB", "--json", code=1))
    assert [one["fits"] for one in listed["schemes"]] == [False] * len(SCHEMES)
    assert listed["best"] is None
    assert listed["kv_cache_bytes_per_token"] == 131_072
    assert listed["memory_bytes"] == round(2 * GIB * 0.99)


def test_what_does_not_fit_says_what_would(folder: Path) -> None:
    assert "take more memory" in run("--gpu", "2GB", code=1)
    much = run("--gpu", "24GB", "--concurrency", "64", "--quantization", "fp8", code=1)
    assert "64 x 1,4" in much
    assert much.splitlines()[-1].endswith("or try --kv-cache-dtype fp8.")
    crowd = run("--gpu", "24GB", "--concurrency", "64", code=1).splitlines()
    assert crowd[-4:] == [
        "One answer at a time fits:",
        "Take a GGUF file that is ready, or make one with llama.cpp's source in DIR:",
        "ragkit model quantize m --scheme gguf-q8_0 --llamacpp DIR",
        "ragkit model serve m-gguf-q8_0/m-Q8_0.gguf --engine llamacpp --max-model-len 8192",
    ]


def test_the_embedding_model_may_share_the_card(folder: Path) -> None:
    assert "embedding model and reranker: 1.2 GiB" in run("--gpu", "24GB", "--embedder")


def test_an_embedding_model_on_a_server_takes_no_memory_here(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_EMBED_URL", "http://127.0.0.1:9/v1")
    result = CliRunner().invoke(app, ["model", "plan", "m", "--gpu", "24GB", "--embedder"])
    assert "embedding model and reranker" not in result.stdout
    assert result.stderr == (
        "--embedder counts nothing: the embedding model runs at RAGKIT_EMBED_URL. If that server"
        " shares this memory, plan with what it leaves.\n"
    )
    with_reranker = run("--gpu", "24GB", "--json", "--embedder", "--reranker", "minilm")
    alone = run("--gpu", "24GB", "--json", "--reranker", "minilm")
    assert json.loads(with_reranker)["others_bytes"] == json.loads(alone)["others_bytes"] > 0


def test_files_that_are_there_are_measured(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(LLAMA | {"quantization_config": AWQ}))
    (folder / "model.safetensors").write_bytes(bytes(3000))
    listed = json.loads(run("--gpu", "24GB", "--json"))
    assert [(row["name"], row["weights_bytes"]) for row in listed["schemes"]] == [("awq", 3000)]
    assert "--quantization" not in listed["schemes"][0]["commands"][0]


def test_a_short_model_is_planned_for_with_what_it_reads(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(LLAMA | {"max_position_embeddings": 2048}))
    assert "--max-model-len 2048" in run("--gpu", "24GB")
