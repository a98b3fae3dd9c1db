"""`ragkit model serve`: a model behind an OpenAI-compatible address, kept running."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import typer

from ragkit_models import cli_serve_options as option

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_models.serve.options import Launch, ServeOptions

# The options that reach the engine's command without a change.
_UNCHANGED = """
    host max_model_len max_num_seqs max_num_queued_reqs gpu_memory_utilization tensor_parallel_size
    pipeline_parallel_size data_parallel_size dtype kv_cache_dtype cpu_kv_cache_gib cpu_threads_bind
    speculative_ngram_tokens structured_outputs reasoning_parser tool_call_parser revision
    load_format enforce_eager trust_remote_code
""".split()


def serve(
    model: option.Model = None,
    extra: option.Extra = None,
    engine: option.Engine = "vllm",
    name: option.Name = None,
    host: option.Host = "127.0.0.1",
    port: option.Port = 8000,
    unix_socket: option.UnixSocket = None,
    allow_remote: option.AllowRemote = False,
    api_key_file: option.ApiKeyFile = None,
    quantization: option.Quantization = None,
    max_model_len: option.MaxModelLen = None,
    max_num_seqs: option.MaxNumSeqs = None,
    max_num_queued_reqs: option.MaxNumQueuedReqs = None,
    shutdown_timeout: option.ShutdownTimeout = 15,
    start_timeout: option.StartTimeout = 1800,
    max_restarts: option.MaxRestarts = 5,
    gpu_memory_utilization: option.GpuMemoryUtilization = None,
    tensor_parallel_size: option.TensorParallelSize = 1,
    pipeline_parallel_size: option.PipelineParallelSize = 1,
    data_parallel_size: option.DataParallelSize = 1,
    dtype: option.Dtype = None,
    kv_cache_dtype: option.KvCacheDtype = None,
    cpu_kv_cache_gib: option.CpuKvCacheGib = None,
    cpu_threads_bind: option.CpuThreadsBind = None,
    lora: option.Lora = None,
    speculative_ngram_tokens: option.SpeculativeNgramTokens = 0,
    structured_outputs: option.StructuredOutputs = None,
    reasoning_parser: option.ReasoningParser = None,
    tool_call_parser: option.ToolCallParser = None,
    chat_template: option.ChatTemplate = None,
    revision: option.Revision = None,
    load_format: option.LoadFormat = "safetensors",
    enforce_eager: option.EnforceEager = False,
    trust_remote_code: option.TrustRemoteCode = False,
    image: option.Image = None,
    quiet: option.Quiet = False,
    advice: option.Advice = False,
    dry_run: option.DryRun = False,
    as_json: option.AsJson = False,
) -> None:
    """Serve a language model with vLLM or llama.cpp, set up for questions over documents.

    It binds to this machine alone, with a key; waits until the model is ready; starts it again
    after a crash; and on Ctrl-C lets running answers finish.
    """
    values = SimpleNamespace(**locals())  # each option by its name
    if advice:
        _print_advice()
    else:
        _serve(values)


def _serve(values: SimpleNamespace) -> None:
    from ragkit.settings.settings import load_settings
    from ragkit_models.serve import address
    from ragkit_models.serve.launch import Choice, choose_launch
    from ragkit_models.serve.prepare import prompt_notes

    settings = load_settings()
    address.require_local(values.host, allow_remote=values.allow_remote)
    # Before a key is made, which may write a file.
    model = _require_model(values.model)
    key, new_key = _key(settings, values.api_key_file, dry_run=values.dry_run)
    options = _serve_options(values, model, key)
    for note in prompt_notes(options.lora, settings):
        _say(note)
    choice = Choice(values.engine, values.image, values.quantization)
    launch = choose_launch(options, choice, settings, say=_say)
    if values.dry_run:
        _print_command(launch, as_json=values.as_json)
        return
    if launch.unix_socket is not None:
        address.require_free_path(launch.unix_socket)
    else:
        address.require_free_port(options.host, options.port)
    _supervise(launch, options.name, new_key, values)


def _serve_options(values: SimpleNamespace, model: str, key: str) -> ServeOptions:
    from ragkit_models.serve import address, prepare
    from ragkit_models.serve.options import ServeOptions

    name = values.name or _default_name(model)
    return ServeOptions(
        model=model,
        name=name,
        key=key,
        port=values.port or address.free_port(values.host),
        unix_socket=values.unix_socket.absolute() if values.unix_socket else None,
        shutdown_timeout_s=values.shutdown_timeout,
        lora=prepare.adapters(values.lora or [], model_name=name),
        chat_template=values.chat_template.absolute() if values.chat_template else None,
        extra=tuple(values.extra or ()),
        **{field: getattr(values, field) for field in _UNCHANGED},
    )


def _supervise(launch: Launch, name: str, new_key: str | None, values: SimpleNamespace) -> None:
    from ragkit_models.serve.display import StartDisplay
    from ragkit_models.serve.supervise import Restarts, supervise

    display = StartDisplay(
        launch,
        name,
        new_key=new_key,
        key_file=values.api_key_file,
        quiet=values.quiet,
        as_json=values.as_json,
    )
    with display as watch:
        supervise(
            launch,
            watch,
            start_timeout_s=values.start_timeout,
            # After the engine's own limit.
            grace_s=values.shutdown_timeout + 10,
            restarts=Restarts(limit=values.max_restarts),
        )


def _say(line: str) -> None:
    typer.echo(f"ragkit: {line}", err=True)


def _require_model(model: str | None) -> str:
    """Return the model with an absolute path. Raises UsageError where none is named."""
    from ragkit.errors import UsageError
    from ragkit_models.serve.llamacpp import only_gguf
    from ragkit_models.serve.prepare import absolute_path

    if not model or model.startswith("-"):
        raise UsageError("name a model: its folder, its name on the hub, or a .gguf file")
    return only_gguf(absolute_path(model))


def _default_name(model: str) -> str:
    """Return the name of a model's folder or file; a name on the hub is returned unchanged."""
    return Path(model).name.removesuffix(".gguf") if Path(model).exists() else model


def _key(settings: Settings, file: Path | None, *, dry_run: bool) -> tuple[str, str | None]:
    """Return the server's key, and the key once more where it must be shown to the user."""
    from ragkit.errors import UsageError
    from ragkit_models.serve import prepare

    setting = settings.llm_api_key
    if setting is not None and file is not None:
        raise UsageError("RAGKIT_LLM_API_KEY and --api-key-file both name a key: use one of them")
    if setting is not None:
        return setting.get_secret_value(), None
    if file is not None and not dry_run:
        return prepare.key_in(file), None
    key = prepare.make_key()
    return key, key


def _print_advice() -> None:
    import textwrap

    from ragkit_models.serve.advice import ADVICE

    for subject, advice in ADVICE.items():
        typer.echo(subject)
        typer.echo(textwrap.indent(textwrap.fill(advice, 88), "    "))


def _print_command(launch: Launch, *, as_json: bool) -> None:
    from ragkit.cli.render import print_json

    if not as_json:
        typer.echo(launch.shown())
        return
    print_json(
        {
            "argv": list(launch.argv),
            "environment": launch.shown_environment(),
            "url": None if launch.unix_socket else launch.base_url,
            "unix_socket": str(launch.unix_socket) if launch.unix_socket else None,
        }
    )
