"""The command for llama.cpp's server, and what is refused before it starts."""

import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit_models.llamacpp import (
    LlamacppCommand,
    check_gguf,
    find_llamacpp,
    llamacpp_command,
)

STRING, U16, U32 = 8, 2, 4
PYTHON = Path("/opt/llama/bin/python")
ARCHITECTURE = ("general.architecture", STRING, "llama")
TEMPLATE = ("tokenizer.chat_template", STRING, "{{ messages }}")
CONTEXT = ("llama.context_length", U32, 32_768)


def write(file: Path, *pairs: tuple[str, int, str | int]) -> str:
    body = b""
    for key, kind, value in pairs:
        body += struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind)
        if isinstance(value, str):
            body += struct.pack("<Q", len(value.encode())) + value.encode()
        else:
            body += struct.pack({U16: "<H", U32: "<I"}[kind], value)
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + body)
    return str(file)


@pytest.fixture
def model(tmp_path: Path) -> str:
    return write(tmp_path / "model.gguf", ARCHITECTURE, TEMPLATE, CONTEXT)


def command(model: str, **others: Any) -> LlamacppCommand:
    wanted: dict[str, Any] = {"server": PYTHON, "host": "127.0.0.1", "port": 8100}
    wanted |= {"key": "sk-secret"} | others
    return llamacpp_command(model, name="tiny", **wanted)


def test_the_python_server_gets_its_key_by_environment_and_nothing_slips_in(model: str) -> None:
    stray = {"HOST": "0.0.0.0", "CONFIG_FILE": "x", "n_ctx": "1", "PATH": "/bin"}
    made = command(model, environment=stray, extra=("--n_threads", "2"))
    assert made.argv == (
        *("/opt/llama/bin/python", "-m", "llama_cpp.server"),
        *("--host", "127.0.0.1", "--port", "8100", "--model", model, "--model_alias", "tiny"),
        *("--n_ctx", "8192", "--n_gpu_layers", "-1", "--chat_format", "chat_template.default"),
        *("--interrupt_requests", "false", "--logits_all", "false", "--verbose", "false"),
        *("--n_threads", "2"),
    )
    assert made.environment == {
        "API_KEY": "sk-secret",
        "HOST": "127.0.0.1",
        "PORT": "8100",
        "PATH": "/bin",
    }
    assert made.ready == "/v1/models"
    assert "sk-secret" not in repr(made)


def test_the_native_server_gets_its_key_by_environment(model: str) -> None:
    native = Path("/usr/bin/llama-server")
    made = command(model, server=native, context_tokens=4096, environment={"PATH": "/bin"})
    assert made.argv == (
        *("/usr/bin/llama-server", "--host", "127.0.0.1", "--port", "8100", "--model", model),
        *("--alias", "tiny", "--ctx-size", "4096", "--jinja"),
    )
    assert made.environment == {"PATH": "/bin", "LLAMA_API_KEY": "sk-secret"}
    assert made.ready == "/health"


@pytest.mark.parametrize(
    ("limit", "wanted", "context"),
    [(2048, None, "2048"), (0, None, "8192"), (32_768, 32_768, "32768"), (0, 100, "100")],
)
def test_a_context_is_the_models_own_up_to_8192_or_as_wanted(
    tmp_path: Path, limit: int, wanted: int | None, context: str
) -> None:
    length = [("llama.context_length", U32, limit)] if limit else []
    model = write(tmp_path / "m.gguf", ARCHITECTURE, TEMPLATE, *length)
    argv = command(model, context_tokens=wanted).argv
    assert argv[argv.index("--n_ctx") + 1] == context


def test_a_context_above_the_models_own_is_one_line(model: str) -> None:
    with pytest.raises(UsageError, match="at most 32768 tokens, not 32769"):
        command(model, context_tokens=32_769)


@pytest.mark.parametrize(
    ("pairs", "part"),
    [
        ((ARCHITECTURE, CONTEXT), "has no chat template"),
        ((ARCHITECTURE, ("general.type", STRING, "adapter")), "holds a GGUF adapter, not a model"),
        (
            (ARCHITECTURE, TEMPLATE, ("split.no", U16, 1), ("split.count", U16, 3)),
            "is part 2 of 3: name the first part",
        ),
    ],
)
def test_a_file_that_cannot_chat_is_one_line(
    tmp_path: Path, pairs: tuple[tuple[str, int, str | int], ...], part: str
) -> None:
    model = write(tmp_path / "m.gguf", *pairs)
    with pytest.raises(UsageError) as caught:
        check_gguf(model)
    assert part in str(caught.value)


def test_a_folder_or_another_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder, and --engine llamacpp serves one"):
        check_gguf(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(bytes(64))
    with pytest.raises(ModelError, match="does not begin with GGUF"):
        check_gguf(str(tmp_path / "model.safetensors"))


def test_the_server_is_the_named_python_then_the_program_then_this_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match=r"ragkit\[llamacpp\].*RAGKIT_LLAMACPP_PYTHON.*PATH"):
        find_llamacpp(None)
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_llamacpp(None) == program
    with pytest.raises(ModelError, match=r"has no llama\.cpp server: pip install"):
        find_llamacpp(Path(sys.executable))
    with pytest.raises(ModelError, match="cannot be run"):
        find_llamacpp(tmp_path / "nowhere")
