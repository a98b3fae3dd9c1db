"""Make the launch of llama.cpp's server; refuse the options that it does not have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ragkit.errors import UsageError
from ragkit_models.llamacpp import find_llamacpp, llamacpp_command
from ragkit_models.serve.options import Launch, ServeOptions, base_url

_PLAIN: Final = ServeOptions(model="", name="", key="")
_SUPPORTED: Final = frozenset(
    "model name key host port max_model_len shutdown_timeout_s extra".split()
)


def only_gguf(model: str) -> str:
    """Return the one .gguf file of a folder without config.json, or else the model as it is.

    `ragkit model quantize` makes such folders.
    """
    folder = Path(model)
    if not folder.is_dir() or (folder / "config.json").exists():
        return model
    files = list(folder.glob("*.gguf"))
    return str(files[0]) if len(files) == 1 else model


def llamacpp_launch(options: ServeOptions, quantization: str | None, python: Path | None) -> Launch:
    """Make the launch of a GGUF file. Raises UsageError for an option that llama.cpp lacks."""
    if quantization not in {None, "gguf"}:
        raise UsageError(
            f"llama.cpp serves a GGUF file as it is, not with --quantization {quantization}: leave"
            " it out, or use --engine vllm"
        )
    for name in ServeOptions.__dataclass_fields__:
        if name not in _SUPPORTED and getattr(options, name) != getattr(_PLAIN, name):
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is for vLLM: leave it out with --engine llamacpp")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAGKIT_")}
    command = llamacpp_command(
        options.model,
        server=find_llamacpp(python),
        host=options.host,
        port=options.port,
        key=options.key,
        name=options.name,
        context_tokens=options.max_model_len,
        extra=options.extra,
        environment=inherited,
    )
    return Launch(
        program="llama.cpp",
        argv=command.argv,
        environment=command.environment,
        base_url=base_url(options.host, options.port),
        ready_path=command.ready,
        key=options.key,
        added={k: v for k, v in command.environment.items() if inherited.get(k) != v},
    )
