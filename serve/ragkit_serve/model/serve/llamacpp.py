"""llama.cpp's server as a Launch: which of the options it takes, and which it must refuse."""

from __future__ import annotations

from pathlib import Path

from ragkit.errors import UsageError
from ragkit_serve.model.llamacpp import find_llamacpp, llamacpp_command
from ragkit_serve.model.serve.options import Launch, ServeOptions

_PLAIN = ServeOptions(model="", name="", key="")
_TAKEN = frozenset(
    "model name key host port max_model_len shutdown_timeout_s max_num_queued_reqs".split()
)


def llamacpp_launch(options: ServeOptions, quantization: str | None, python: Path | None) -> Launch:
    """Make the launch of a GGUF file. Raises UsageError for an option that llama.cpp lacks."""
    if quantization not in {None, "gguf"}:
        raise UsageError(
            f"llama.cpp serves a GGUF file as it is, not with --quantization {quantization}: leave"
            " it out, or use --engine vllm"
        )
    for name in ServeOptions.__dataclass_fields__:
        if name not in _TAKEN and getattr(options, name) != getattr(_PLAIN, name):
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is for vLLM: leave it out with --engine llamacpp")
    command = llamacpp_command(
        options.model,
        server=find_llamacpp(python),
        host=options.host,
        port=options.port,
        key=options.key,
        name=options.name,
        context_tokens=options.max_model_len,
    )
    host = f"[{options.host}]" if ":" in options.host else options.host
    return Launch(
        argv=command.argv,
        environment=command.environment,
        base_url=f"http://{host}:{options.port}/v1",
        ready_path=command.ready,
        key=options.key,
    )
