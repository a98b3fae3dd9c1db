"""vLLM's command line: what a RAG load wants, what is never on it, and what each option becomes."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import UsageError
from ragkit_models.serve import vllm
from ragkit_models.serve.advice import doubts
from ragkit_models.serve.container import container_launch
from ragkit_models.serve.options import Adapter, Launch, ServeOptions

PROGRAM = ("/opt/vllm/bin/python", "-m", vllm.MODULE)


def options(**chosen: Any) -> ServeOptions:
    return ServeOptions(**{"model": "/models/m", "name": "m", "key": "sk-k", **chosen})


def launch(*, cpu: bool = False, **chosen: Any) -> Launch:
    return vllm.vllm_launch(options(**chosen), program=PROGRAM, cpu=cpu, inherited={})


def test_the_whole_command() -> None:
    made = launch()
    assert " ".join(made.argv) == (
        "/opt/vllm/bin/python -m vllm.entrypoints.openai.api_server"
        " --model /models/m --served-model-name m --host 127.0.0.1 --port 8000"
        " --enable-prefix-caching --enable-chunked-prefill --enable-prompt-tokens-details"
        " --no-enable-log-requests --disable-uvicorn-access-log --disable-fastapi-docs"
        " --load-format safetensors --max-num-queued-reqs 512 --shutdown-timeout 15"
    )
    assert made.environment == {
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PYTHONSAFEPATH": "1",
        "VLLM_API_KEY": "sk-k",
    }
    assert (made.base_url, made.ready_path) == ("http://127.0.0.1:8000/v1", "/health")


def test_the_key_is_in_the_environment_alone_and_masked_where_it_is_shown() -> None:
    made = launch()
    assert not any("sk-k" in part for part in made.argv)
    assert "sk-k" not in made.shown()
    assert "sk-k" not in json.dumps(made.shown_environment())
    assert "sk-k" not in repr(made)
    assert "VLLM_API_KEY=*** " in made.shown()


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"unix_socket": Path("/run/v.sock")}, "--uds /run/v.sock"),
        ({"host": "::1", "port": 9}, "--host ::1 --port 9"),
        ({"max_model_len": 4096}, "--max-model-len 4096"),
        ({"max_num_seqs": 8}, "--max-num-queued-reqs 16"),
        ({"max_num_seqs": 8, "data_parallel_size": 2}, "--max-num-queued-reqs 32"),
        ({"max_num_queued_reqs": 3}, "--max-num-queued-reqs 3"),
        ({"shutdown_timeout_s": 0}, "--shutdown-timeout 0"),
        ({"gpu_memory_utilization": 0.5}, "--gpu-memory-utilization 0.5"),
        ({"tensor_parallel_size": 2}, "--tensor-parallel-size 2"),
        ({"pipeline_parallel_size": 2}, "--pipeline-parallel-size 2"),
        ({"data_parallel_size": 2}, "--data-parallel-size 2"),
        ({"dtype": "bfloat16"}, "--dtype bfloat16"),
        ({"kv_cache_dtype": "fp8"}, "--kv-cache-dtype fp8"),
        ({"reasoning_parser": "qwen3"}, "--reasoning-parser qwen3"),
        ({"tool_call_parser": "hermes"}, "--tool-call-parser hermes --enable-auto-tool-choice"),
        ({"trust_remote_code": True}, "--trust-remote-code"),
        ({"load_format": "auto"}, "--load-format auto"),
        ({"structured_outputs": "xgrammar"}, '--structured-outputs-config {"backend": "xgrammar"}'),
        (
            {"speculative_ngram_tokens": 4},
            '--speculative-config {"method": "ngram", "num_speculative_tokens": 4,'
            ' "prompt_lookup_max": 4}',
        ),
        (
            {"lora": (Adapter(name="a", path="/l/a", rank=8), Adapter(name="b", path="x/b"))},
            "--enable-lora --max-loras 2 --max-lora-rank 16 --lora-modules a=/l/a b=x/b",
        ),
        (
            {"lora": (Adapter(name="a", path="/l/a", rank=40),)},
            "--enable-lora --max-loras 1 --max-lora-rank 64 --lora-modules a=/l/a",
        ),
        ({"quantization": ("--quantization", "awq")}, "--quantization awq"),
        ({"extra": ("--seed", "7")}, "--seed 7"),
    ],
)
def test_each_option(chosen: dict[str, Any], expected: str) -> None:
    assert f" {expected} " in " ".join(launch(**chosen).argv) + " "


def test_a_socket_takes_the_place_of_the_port() -> None:
    assert "--port" not in launch(unix_socket=Path("/run/v.sock")).argv


def test_remote_code_is_off_and_an_old_vllm_is_not_given_what_it_does_not_know() -> None:
    assert "--trust-remote-code" not in launch().argv
    assert "--max-num-queued-reqs" not in vllm.arguments(options(), version=(0, 28))
    assert "--max-num-queued-reqs" in vllm.arguments(options(), version=(0, 29))


def test_what_opens_routes_and_our_own_secrets_are_not_inherited() -> None:
    inherited = {
        "PATH": "/bin",
        "VLLM_SERVER_DEV_MODE": "1",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
        "RAGKIT_DATABASE_URL": "postgresql://u:p@h/d",
    }
    made = vllm.vllm_launch(options(), program=PROGRAM, cpu=False, inherited=inherited)
    assert made.environment.keys() - made.added.keys() == {"PATH"}


def test_on_a_cpu_the_cache_has_a_size_and_threads_may_be_bound() -> None:
    made = launch(cpu=True, cpu_kv_cache_gib=3, cpu_threads_bind="0-3")
    assert made.added["VLLM_CPU_KVCACHE_SPACE"] == "3"
    assert made.added["VLLM_CPU_OMP_THREADS_BIND"] == "0-3"
    assert 1 <= int(launch(cpu=True).added["VLLM_CPU_KVCACHE_SPACE"]) <= 16
    assert "VLLM_CPU_KVCACHE_SPACE" not in launch().added


def in_container(folder: Path, *, engine: str = "docker", **chosen: Any) -> Launch:
    return container_launch(
        "vllm/vllm-openai:v0.32.0",
        options(model=str(folder), port=9000, **chosen),
        engine=Path("/usr/bin") / engine,
        gpu="nvidia",
        inherited={"HF_HOME": str(folder), "HF_HUB_OFFLINE": "1", "PATH": "/bin"},
        name="ragkit-1",
    )


def test_a_container_listens_inside_and_is_published_on_loopback_alone(tmp_path: Path) -> None:
    made = in_container(tmp_path)
    command = " ".join(made.argv)
    assert command.startswith(
        "/usr/bin/docker run --rm --init --name ragkit-1 --ipc=host"
        " --publish 127.0.0.1:9000:8000 --gpus=all --env"
    )
    assert f"--volume {tmp_path}:{tmp_path}:ro --volume {tmp_path}:/root/.cache/hug" in command
    assert "--entrypoint python3 vllm/vllm-openai:v0.32.0 -m vllm.entrypoints" in command
    assert " --host 0.0.0.0 --port 8000 " in command
    assert made.base_url == "http://127.0.0.1:9000/v1"
    assert made.cleanup == ("/usr/bin/docker", "rm", "--force", "ragkit-1")


def test_a_container_gets_the_key_and_the_hubs_settings_by_name(tmp_path: Path) -> None:
    made = in_container(tmp_path)
    handed_on = [made.argv[at + 1] for at, part in enumerate(made.argv) if part == "--env"]
    assert {"VLLM_API_KEY", "VLLM_NO_USAGE_STATS", "HF_HUB_OFFLINE"} <= set(handed_on)
    assert not any("=" in name for name in handed_on)
    assert made.environment["VLLM_API_KEY"] == "sk-k"


def test_podman_names_its_gpus_otherwise_and_a_socket_is_refused(tmp_path: Path) -> None:
    assert "--device=nvidia.com/gpu=all" in in_container(tmp_path, engine="podman").argv
    with pytest.raises(UsageError, match="--unix-socket is not for a container"):
        in_container(tmp_path, unix_socket=Path("/run/v.sock"))


@pytest.mark.parametrize(
    ("cpu", "chosen", "said"),
    [
        (True, {"kv_cache_dtype": "fp8"}, "--kv-cache-dtype fp8 saves memory on a CPU"),
        (True, {"gpu_memory_utilization": 0.9}, "--gpu-memory-utilization yields"),
        (False, {"cpu_kv_cache_gib": 2}, "--cpu-kv-cache-gib has no effect on a GPU"),
        (False, {"speculative_ngram_tokens": 4}, "--speculative-ngram-tokens costs throughput"),
    ],
)
def test_what_does_not_pay_is_said(cpu: bool, chosen: dict[str, Any], said: str) -> None:
    (line,) = doubts(options(**chosen), cpu=cpu)
    assert line.startswith(said)


def test_what_pays_is_not_doubted() -> None:
    chosen = options(kv_cache_dtype="fp8", speculative_ngram_tokens=4, max_num_seqs=8)
    assert list(doubts(chosen, cpu=False)) == []
