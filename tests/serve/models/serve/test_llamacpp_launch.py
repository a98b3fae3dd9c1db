"""`--engine llamacpp`: what becomes of the options, and which of them it does not take."""

from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import UsageError
from ragkit_models.serve.llamacpp import llamacpp_launch, only_gguf
from ragkit_models.serve.options import ServeOptions
from tests.commands import run
from tests.serve.models.test_llamacpp import ARCHITECTURE, CONTEXT, TEMPLATE, write


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    program = tmp_path / "llama-server"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("RAGKIT_DATABASE_URL", "postgresql://u:p@h/d")
    return write(tmp_path / "model.gguf", ARCHITECTURE, TEMPLATE, CONTEXT)


def options(model: str, **chosen: Any) -> ServeOptions:
    return ServeOptions(model=model, name="m", key="sk-k", **chosen)


def test_the_command(model: str) -> None:
    made = llamacpp_launch(
        options(model, port=9, max_model_len=512, extra=("--threads", "2")), None, None
    )
    command = " ".join(made.argv)
    assert f"llama-server --host 127.0.0.1 --port 9 --model {model} --alias m" in command
    assert command.endswith("--ctx-size 512 --jinja --threads 2")
    assert made.added == {"LLAMA_API_KEY": "sk-k"}
    assert "sk-k" not in made.shown()
    assert "RAGKIT_DATABASE_URL" not in made.environment
    assert (made.base_url, made.ready_path) == ("http://127.0.0.1:9/v1", "/health")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"tensor_parallel_size": 2}, "--tensor-parallel-size is for vLLM"),
        ({"unix_socket": Path("/run/s")}, "--unix-socket is for vLLM"),
        ({"speculative_ngram_tokens": 2}, "--speculative-ngram-tokens is for vLLM"),
    ],
)
def test_options_of_vllm_are_refused(model: str, chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        llamacpp_launch(options(model, **chosen), None, None)


def test_another_quantization_is_refused(model: str) -> None:
    llamacpp_launch(options(model), "gguf", None)
    with pytest.raises(UsageError, match="not with --quantization awq"):
        llamacpp_launch(options(model), "awq", None)


def test_a_folder_that_quantize_made_is_served_by_its_one_file(model: str) -> None:
    folder = Path(model).parent
    result = run(
        "model", "serve", str(folder), "--dry-run", environment={"RAGKIT_LLM_API_KEY": "k"}
    )
    assert result.returncode == 0, result.stderr
    assert f"--model {model} --alias model" in result.stdout
    assert only_gguf(model) == model
    (folder / "config.json").touch()
    assert only_gguf(str(folder)) == str(folder)
    (folder / "config.json").unlink()
    (folder / "other.gguf").touch()
    assert only_gguf(str(folder)) == str(folder)
    assert only_gguf("org/name") == "org/name"
