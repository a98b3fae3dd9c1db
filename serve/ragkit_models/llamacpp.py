"""Check a GGUF file and make the command of llama.cpp's server for it.

The server is the `llama-server` program or llama-cpp-python's `llama_cpp.server`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ragkit.errors import ModelError, UsageError
from ragkit_models.gguf_header import GgufHeader, read_gguf

# Arbitrary: a RAG prompt with room for its answer; a model's own limit can ask for tens of GB.
_CONTEXT_TOKENS: Final = 8192

_FIND: Final = (
    "import sys; from importlib.util import find_spec;"
    " sys.exit(any(find_spec(name) is None for name in sys.argv[1:]))"
)

_PYTHON_SERVER: Final = (
    *("--n_gpu_layers", "-1"),  # all layers; a build for the CPU ignores it
    *("--chat_format", "chat_template.default"),  # the model's own, never a guess
    # Otherwise a second question ends a stream in the middle, as if it were complete.
    *("--interrupt_requests", "false"),
    # Otherwise the logits of every token of the context are kept: 5 GB at 8192 tokens of a
    # vocabulary of 152,000. The price: no logprobs.
    *("--logits_all", "false"),
    *("--verbose", "false"),
)

# llama_cpp.server (0.3.36) reads each of its settings from a variable of that name as well, HOST
# and PORT even before its arguments: none of them may slip in from the user's shell.
SETTING_VARIABLES: Final = frozenset(
    """
    API_KEY CACHE CACHE_SIZE CACHE_TYPE CHAT_FORMAT CHAT_TEMPLATE_KWARGS CLIP_MODEL_PATH
    CONFIG_FILE DISABLE_PING_EVENTS DRAFT_MODEL DRAFT_MODEL_NUM_PRED_TOKENS EMBEDDING
    FLASH_ATTN HF_MODEL_REPO_ID HF_PRETRAINED_MODEL_NAME_OR_PATH HF_TOKENIZER_CONFIG_PATH HOST
    INTERRUPT_REQUESTS KV_OVERRIDES LAST_N_TOKENS_SIZE LOGITS_ALL LORA_BASE LORA_PATH MAIN_GPU
    MODEL MODEL_ALIAS MUL_MAT_Q NUMA N_BATCH N_CTX N_GPU_LAYERS N_THREADS N_THREADS_BATCH
    N_UBATCH OFFLOAD_KQV PORT ROOT_PATH ROPE_FREQ_BASE ROPE_FREQ_SCALE ROPE_SCALING_TYPE
    RPC_SERVERS SEED SPLIT_MODE SSL_CERTFILE SSL_KEYFILE TENSOR_SPLIT TYPE_K TYPE_V USE_MLOCK
    USE_MMAP VERBOSE VOCAB_ONLY YARN_ATTN_FACTOR YARN_BETA_FAST YARN_BETA_SLOW YARN_EXT_FACTOR
    YARN_ORIG_CTX
    """.split()
)


_NATIVE: Final = "llama-server"


@dataclass(frozen=True, slots=True)
class LlamacppCommand:
    """A command line and its complete environment, which holds the key.

    `ready` is the path that answers 200 once the model is loaded; it needs the key.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    ready: str


def find_llamacpp(python: Path | None) -> Path:
    """Find a server for GGUF files: `python`, llama-server on the PATH, or this interpreter.

    Raises ModelError when there is none.
    """
    if python is not None:
        _check_python(python)
        return python
    native = shutil.which(_NATIVE)
    if native is not None:
        return Path(native)
    try:
        _check_python(Path(sys.executable))
    except ModelError as error:
        raise ModelError(
            "llama.cpp's server is not installed: pip install 'ragkit[llamacpp]', or set"
            " RAGKIT_LLAMACPP_PYTHON to the Python of an environment that has"
            " llama-cpp-python[server], or put llama-server on the PATH"
        ) from error
    return Path(sys.executable)


def check_gguf(model: str) -> tuple[Path, GgufHeader]:
    """Read a GGUF file's header and refuse a file that cannot answer in a chat.

    Raises UsageError for a file without a model or chat template, ModelError for a broken file.
    """
    file = Path(model).expanduser()
    if file.is_dir():
        raise UsageError(
            f"{model} is a folder, and --engine llamacpp serves one .gguf file: name the file"
        )
    header = read_gguf(file)
    if header.kind not in {"", "model"}:
        raise UsageError(f"{model} holds a GGUF {header.kind}, not a model: name the model's file")
    if header.part:
        raise UsageError(
            f"{model} is part {header.part + 1} of {header.parts}: name the first part, in a folder"
            " with the others"
        )
    if not header.chat_template:
        raise UsageError(
            f"{model} has no chat template, so it cannot answer questions: choose the file of"
            " a model made for chat (often named instruct or it)"
        )
    return file, header


def llamacpp_command(
    model: str,
    *,
    server: Path,
    host: str,
    port: int,
    key: str,
    name: str,
    context_tokens: int | None = None,
    extra: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> LlamacppCommand:
    """Make the command that serves a GGUF file under `name`.

    `server` is a `llama-server` or a Python interpreter, as `find_llamacpp` gives it; `extra` are
    arguments of the server; `environment` is inherited by the command, this process's by default.
    Raises as `check_gguf` does, and UsageError for a context longer than the model's.
    """
    file, header = check_gguf(model)
    common = (
        *("--host", host, "--port", str(port)),
        *("--model", str(file)),
    )
    context = str(_context_tokens(header, context_tokens))
    inherited = os.environ if environment is None else environment
    if server.name == _NATIVE:
        # --jinja: the model's own chat template
        argv = (str(server), *common, "--alias", name, "--ctx-size", context, "--jinja", *extra)
        return LlamacppCommand(argv, {**inherited, "LLAMA_API_KEY": key}, ready="/health")
    argv = (
        *(str(server), "-m", "llama_cpp.server", *common),
        *("--model_alias", name, "--n_ctx", context, *_PYTHON_SERVER, *extra),
    )
    passed_on = {
        name: value for name, value in inherited.items() if name.upper() not in SETTING_VARIABLES
    }
    added = {"API_KEY": key, "HOST": host, "PORT": str(port)}
    return LlamacppCommand(argv, {**passed_on, **added}, ready="/v1/models")


def _context_tokens(header: GgufHeader, requested: int | None) -> int:
    limit = header.context_tokens
    if requested is None:
        return min(limit, _CONTEXT_TOKENS) if limit else _CONTEXT_TOKENS
    if limit and requested > limit:
        raise UsageError(f"the model reads at most {limit} tokens, not {requested}: ask for less")
    return requested


def _check_python(python: Path) -> None:
    """Check that an interpreter has llama-cpp-python with its server."""
    packages = ("llama_cpp", "uvicorn", "sse_starlette", "starlette_context")
    try:
        done = subprocess.run(
            [str(python), "-c", _FIND, *packages],
            cwd="/",
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(
            f"RAGKIT_LLAMACPP_PYTHON = {python} cannot be run: name the Python of an environment"
            " that has llama-cpp-python[server]"
        ) from error
    if done.returncode:
        raise ModelError(
            f"RAGKIT_LLAMACPP_PYTHON = {python} has no llama.cpp server: pip install"
            " 'llama-cpp-python[server]' in that environment"
        )
