"""`ragkit model serve`: a model behind an OpenAI-compatible address, kept running."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from ragkit.settings import Settings
    from ragkit_serve.model.serve.options import Launch

Engine = Literal["vllm", "llamacpp"]


def serve(
    model: Annotated[
        str | None, typer.Argument(help="A model's folder, its name on the hub, or a .gguf file.")
    ] = None,
    extra: Annotated[
        list[str] | None, typer.Argument(help="After --: further options for the engine itself.")
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Program that runs the model.")] = "vllm",
    name: Annotated[str | None, typer.Option(help="Name of the model for clients.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8000,
    unix_socket: Annotated[
        Path | None, typer.Option(help="Listen on a unix socket at this path instead of a port.")
    ] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Allow an address that other machines can reach.")
    ] = False,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the key, created with a new key if missing (default:"
            " RAGKIT_LLM_API_KEY)."
        ),
    ] = None,
    quantization: Annotated[
        str | None,
        typer.Option(help="awq, gptq, fp8, int8, compressed-tensors, bitsandbytes or gguf."),
    ] = None,
    max_model_len: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of tokens of prompt and answer together."),
    ] = None,
    max_num_seqs: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of concurrent answers.")
    ] = None,
    max_num_queued_reqs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of running and waiting requests; more are refused with 503."
        ),
    ] = None,
    shutdown_timeout: Annotated[
        int,
        typer.Option(
            min=0, help="Seconds that running answers may take when the server is stopped."
        ),
    ] = 15,
    start_timeout: Annotated[int, typer.Option(min=1, help="Seconds allowed for starting.")] = 1800,
    max_restarts: Annotated[
        int, typer.Option(min=0, help="Maximum number of restarts after consecutive crashes.")
    ] = 5,
    gpu_memory_utilization: Annotated[float | None, typer.Option(min=0.05, max=1.0)] = None,
    tensor_parallel_size: Annotated[
        int, typer.Option(min=1, help="Number of GPUs that share each layer.")
    ] = 1,
    pipeline_parallel_size: Annotated[
        int, typer.Option(min=1, help="Number of groups of layers, each on its own GPUs.")
    ] = 1,
    data_parallel_size: Annotated[
        int, typer.Option(min=1, help="Number of copies of the model.")
    ] = 1,
    dtype: Annotated[str | None, typer.Option(help="auto, bfloat16, float16 or float32.")] = None,
    kv_cache_dtype: Annotated[str | None, typer.Option(help="auto or fp8.")] = None,
    cpu_kv_cache_gib: Annotated[
        int | None, typer.Option(min=1, help="GiB of KV cache on a CPU.")
    ] = None,
    cpu_threads_bind: Annotated[
        str | None, typer.Option(help="CPU cores to use, such as 0-7; nobind for no binding.")
    ] = None,
    lora: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FOLDER", help="LoRA adapter (repeatable).")
    ] = None,
    speculative_ngram_tokens: Annotated[
        int, typer.Option(min=0, max=32, help="Number of tokens to speculate from the prompt.")
    ] = 0,
    structured_outputs: Annotated[
        str | None, typer.Option(help="Backend for structured output: xgrammar or guidance.")
    ] = None,
    reasoning_parser: Annotated[
        str | None,
        typer.Option(help="Parser that separates a thinking model's reasoning, such as qwen3."),
    ] = None,
    tool_call_parser: Annotated[
        str | None, typer.Option(help="Parser for tool calls, such as hermes or llama3_json.")
    ] = None,
    chat_template: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
    revision: Annotated[str | None, typer.Option(help="Revision of a model from the hub.")] = None,
    load_format: Annotated[
        str,
        typer.Option(help="Format of the weights; formats other than safetensors may run code."),
    ] = "safetensors",
    enforce_eager: Annotated[
        bool, typer.Option("--enforce-eager", help="Start faster but run slower.")
    ] = False,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    image: Annotated[str | None, typer.Option(help="Container image to run vLLM from.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide the server's log.")] = False,
    advice: Annotated[
        bool, typer.Option("--advice", help="Explain which options help when, and exit.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the exact command and exit.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the command, or the ready message, as JSON.")
    ] = False,
) -> None:
    """Serve a language model with vLLM or llama.cpp, set up for questions over documents.

    It binds to this machine alone, with a key; waits until the model is ready; starts it again
    after a crash; and on Ctrl-C lets running answers finish.
    """
    from ragkit.settings import load_settings
    from ragkit_serve.model.serve import address, prepare
    from ragkit_serve.model.serve.choose import Choice, choose_launch
    from ragkit_serve.model.serve.options import ServeOptions

    if advice:
        _print_advice()
        return
    settings = load_settings()
    address.require_local(host, allow_remote=allow_remote)
    model = prepare.whole_path(_named(model))
    name = name or _default_name(model)
    key, new_key = _key(settings, api_key_file, dry_run=dry_run)
    options = ServeOptions(
        model=model,
        name=name,
        key=key,
        host=host,
        port=port or address.free_port(host),
        unix_socket=unix_socket.absolute() if unix_socket else None,
        max_model_len=max_model_len,
        max_num_seqs=max_num_seqs,
        max_num_queued_reqs=max_num_queued_reqs,
        shutdown_timeout_s=shutdown_timeout,
        gpu_memory_utilization=gpu_memory_utilization,
        tensor_parallel_size=tensor_parallel_size,
        pipeline_parallel_size=pipeline_parallel_size,
        data_parallel_size=data_parallel_size,
        dtype=dtype,
        kv_cache_dtype=kv_cache_dtype,
        cpu_kv_cache_gib=cpu_kv_cache_gib,
        cpu_threads_bind=cpu_threads_bind,
        lora=prepare.adapters(lora or [], model_name=name),
        speculative_ngram_tokens=speculative_ngram_tokens,
        structured_outputs=structured_outputs,
        reasoning_parser=reasoning_parser,
        tool_call_parser=tool_call_parser,
        chat_template=chat_template.absolute() if chat_template else None,
        revision=revision,
        load_format=load_format,
        enforce_eager=enforce_eager,
        trust_remote_code=trust_remote_code,
        extra=tuple(extra or ()),
    )
    choice = Choice(engine=engine, image=image, quantization=quantization)
    launch = choose_launch(options, choice, settings, say=_say)
    if dry_run:
        _print_command(launch, as_json=as_json)
        return
    if launch.unix_socket is not None:
        address.require_free_path(launch.unix_socket)
    else:
        address.require_free_port(host, options.port)

    from ragkit_serve.model.serve.show import Shown
    from ragkit_serve.model.serve.supervise import Restarts, supervise

    shown = Shown(
        launch, name, new_key=new_key, key_file=api_key_file, quiet=quiet, as_json=as_json
    )
    with shown as watch:
        supervise(
            launch,
            watch,
            start_timeout_s=start_timeout,
            # The engine's own limit comes first; a little later the group is ended.
            grace_s=shutdown_timeout + 10,
            restarts=Restarts(most=max_restarts),
        )


def _say(line: str) -> None:
    typer.echo(f"ragkit: {line}", err=True)


def _named(model: str | None) -> str:
    from ragkit.errors import UsageError

    if not model or model.startswith("-"):
        raise UsageError("name a model: its folder, its name on the hub, or a .gguf file")
    return model


def _default_name(model: str) -> str:
    """Name a model as its folder or file is named; a model on the hub by its name there."""
    return Path(model).name.removesuffix(".gguf") if Path(model).exists() else model


def _key(settings: Settings, file: Path | None, *, dry_run: bool) -> tuple[str, str | None]:
    """Return the server's key, and the same again where the user must be told it."""
    from ragkit.errors import UsageError
    from ragkit_serve.model.serve import prepare

    own = settings.llm_api_key
    if own is not None and file is not None:
        raise UsageError("RAGKIT_LLM_API_KEY and --api-key-file both name a key: use one of them")
    if own is not None:
        return own.get_secret_value(), None
    if file is not None and not dry_run:
        return prepare.key_in(file), None
    key = prepare.make_key()
    return key, key


def _print_advice() -> None:
    import textwrap

    from ragkit_serve.model.serve.advice import ADVICE

    for subject, said in ADVICE.items():
        typer.echo(subject)
        typer.echo(textwrap.indent(textwrap.fill(said, 88), "    "))


def _print_command(launch: Launch, *, as_json: bool) -> None:
    from ragkit.render import print_json

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
