"""`ragkit model serve`: a model behind an OpenAI-compatible address, kept running."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from ragkit.settings import Settings
    from ragkit_serve.model.serve.options import Launch, ServeOptions

Engine = Literal["vllm", "llamacpp"]


def serve(
    model: Annotated[
        str | None, typer.Argument(help="A model's folder, its name on the hub, or a .gguf file.")
    ] = None,
    extra: Annotated[
        list[str] | None, typer.Argument(help="After --: further options for the engine itself.")
    ] = None,
    engine: Annotated[Engine, typer.Option(help="What runs the model.")] = "vllm",
    name: Annotated[str | None, typer.Option(help="What clients call the model.")] = None,
    host: Annotated[str, typer.Option(help="The address to bind to.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    unix_socket: Annotated[
        Path | None, typer.Option(help="Listen at this path, and at no port.")
    ] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Bind to an address others can reach.")
    ] = False,
    quantization: Annotated[
        str | None,
        typer.Option(help="awq, gptq, fp8, int8, compressed-tensors, bitsandbytes or gguf."),
    ] = None,
    max_model_len: Annotated[
        int | None, typer.Option(min=1, help="Tokens of prompt and answer together.")
    ] = None,
    max_num_seqs: Annotated[int | None, typer.Option(min=1, help="Answers at once.")] = None,
    max_num_queued_reqs: Annotated[
        int, typer.Option(min=0, help="Requests that may wait; beyond them it answers 503.")
    ] = 64,
    shutdown_timeout: Annotated[
        int, typer.Option(min=0, help="Seconds that running answers get when it is stopped.")
    ] = 15,
    start_timeout: Annotated[int, typer.Option(min=1, help="Seconds to get ready in.")] = 1800,
    gpu_memory_utilization: Annotated[float | None, typer.Option(min=0.05, max=1.0)] = None,
    tensor_parallel_size: Annotated[int, typer.Option(min=1, help="GPUs per layer.")] = 1,
    pipeline_parallel_size: Annotated[int, typer.Option(min=1, help="Groups of layers.")] = 1,
    dtype: Annotated[str | None, typer.Option(help="auto, bfloat16, float16 or float32.")] = None,
    kv_cache_dtype: Annotated[str | None, typer.Option(help="auto or fp8.")] = None,
    cpu_kv_cache_gib: Annotated[
        int | None, typer.Option(min=1, help="GiB of KV cache on a CPU.")
    ] = None,
    lora: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FOLDER", help="A LoRA adapter; repeatable.")
    ] = None,
    max_lora_rank: Annotated[int | None, typer.Option(min=1)] = None,
    speculative_ngram_tokens: Annotated[
        int, typer.Option(min=0, max=32, help="Guess so many tokens from the prompt.")
    ] = 0,
    structured_outputs: Annotated[
        str | None, typer.Option(help="Force a backend: xgrammar or guidance.")
    ] = None,
    reasoning_parser: Annotated[
        str | None, typer.Option(help="Keeps a thinking model's thoughts apart: qwen3, ...")
    ] = None,
    tool_call_parser: Annotated[
        str | None, typer.Option(help="Lets the model call tools: hermes, llama3_json, ...")
    ] = None,
    chat_template: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
    revision: Annotated[str | None, typer.Option(help="Of a model on the hub.")] = None,
    enforce_eager: Annotated[
        bool, typer.Option("--enforce-eager", help="Start faster, run slower.")
    ] = False,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    image: Annotated[
        str | None, typer.Option(help="A container image that has vLLM; see RAGKIT_VLLM_IMAGE.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not show the server's log.")] = False,
    advice: Annotated[
        bool, typer.Option("--advice", help="Say when which option pays, and end.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the exact command, and end.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: print JSON.")] = False,
) -> None:
    """Serve a language model with vLLM or llama.cpp, set up for questions over documents.

    It binds to this machine alone, with a key; waits until the model is ready; starts it again
    after a crash; and on Ctrl-C lets running answers finish.
    """
    from ragkit.settings import load_settings
    from ragkit_serve.model.serve.options import ServeOptions

    if advice:
        _print_advice()
        return
    settings = load_settings()
    _check_host(host, allow_remote=allow_remote)
    key, new_key = _key(settings)
    options = ServeOptions(
        model=_named(model),
        name=name or _named(model).rstrip("/").rsplit("/", 1)[-1].removesuffix(".gguf"),
        key=key,
        host=host,
        port=port,
        unix_socket=unix_socket.absolute() if unix_socket else None,
        max_model_len=max_model_len,
        max_num_seqs=max_num_seqs,
        max_num_queued_reqs=max_num_queued_reqs,
        shutdown_timeout_s=shutdown_timeout,
        gpu_memory_utilization=gpu_memory_utilization,
        tensor_parallel_size=tensor_parallel_size,
        pipeline_parallel_size=pipeline_parallel_size,
        dtype=dtype,
        kv_cache_dtype=kv_cache_dtype,
        cpu_kv_cache_gib=cpu_kv_cache_gib,
        lora=_adapters(lora or []),
        max_lora_rank=max_lora_rank,
        speculative_ngram_tokens=speculative_ngram_tokens,
        structured_outputs=structured_outputs,
        reasoning_parser=reasoning_parser,
        tool_call_parser=tool_call_parser,
        chat_template=chat_template,
        revision=revision,
        enforce_eager=enforce_eager,
        trust_remote_code=trust_remote_code,
        extra=tuple(extra or ()),
    )
    launch = _launch(options, settings, engine, quantization, image or settings.vllm_image)
    if dry_run:
        _print_command(launch, as_json=as_json)
        return
    _run(launch, options, tell_key=new_key, quiet=quiet, start_timeout_s=start_timeout)


def _named(model: str | None) -> str:
    from ragkit.errors import UsageError

    if model is None:
        raise UsageError("name a model: its folder, its name on the hub, or a .gguf file")
    return model


def _check_host(host: str, *, allow_remote: bool) -> None:
    import ipaddress

    from ragkit.errors import UsageError

    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback and not allow_remote:
        raise UsageError(
            f"{host} can be reached by others, and vLLM answers several routes without its key: put"
            " `ragkit model gateway` in front, or insist with --allow-remote"
        )


def _key(settings: Settings) -> tuple[str, bool]:
    """Return the server's key and whether it is a new one, which the user must be told."""
    import secrets

    if settings.llm_api_key is not None:
        return settings.llm_api_key.get_secret_value(), False
    return secrets.token_urlsafe(32), True


def _adapters(pairs: list[str]) -> dict[str, str]:
    from ragkit.errors import UsageError

    adapters: dict[str, str] = {}
    for pair in pairs:
        name, equals, folder = pair.partition("=")
        if not (name and equals and folder):
            raise UsageError(f"--lora {pair!r} is not understood: write it as NAME=FOLDER")
        if name in adapters:
            raise UsageError(f"--lora names {name!r} twice: give each adapter a name of its own")
        adapters[name] = folder
    return adapters


def _launch(
    options: ServeOptions,
    settings: Settings,
    engine: Engine,
    quantization: str | None,
    image: str | None,
) -> Launch:
    if engine == "llamacpp" or (options.model.endswith(".gguf") and quantization is None):
        from ragkit_serve.model.serve.llamacpp import llamacpp_launch

        return llamacpp_launch(options, quantization, settings.llamacpp_python)
    from dataclasses import replace

    from ragkit_serve.model.serve import find, vllm
    from ragkit_serve.model.serve.advice import doubts

    if image is not None and settings.vllm_python is None:
        if quantization is not None:
            options = replace(options, quantization=("--quantization", quantization))
        docker = find.find_container_engine()
        program = vllm.container_program(image, options, engine=docker, gpu=find.has_gpu())
        cpu = not find.has_gpu()
    else:
        installed = find.find_vllm(settings.vllm_python)
        if quantization is not None:
            from ragkit_serve.model.quantization import require_quantization

            parts = require_quantization(quantization, installed.python, model=options.model)
            options = replace(options, quantization=parts)
        program = (str(installed.python), "-m", vllm.MODULE)
        cpu = installed.cpu
    for line in doubts(options, cpu=cpu):
        typer.echo(f"ragkit: {line}", err=True)
    return vllm.vllm_launch(options, program=program, cpu=cpu)


def _print_advice() -> None:
    import textwrap

    from ragkit_serve.model.serve.advice import ADVICE

    for subject, said in ADVICE.items():
        typer.echo(subject)
        typer.echo(textwrap.indent(textwrap.fill(said, 88), "    "))


def _print_command(launch: Launch, *, as_json: bool) -> None:
    from ragkit.render import print_json
    from ragkit_serve.model.serve.options import KEY_VARIABLES

    if not as_json:
        typer.echo(launch.shown())
        return
    shown = {name: "***" if name in KEY_VARIABLES else v for name, v in launch.added.items()}
    print_json({"argv": list(launch.argv), "environment": shown, "url": launch.base_url})


def _run(
    launch: Launch,
    options: ServeOptions,
    *,
    tell_key: bool,
    quiet: bool,
    start_timeout_s: float,
) -> None:
    from ragkit_serve.model.serve.show import Shown
    from ragkit_serve.model.serve.supervise import require_free, supervise

    require_free(launch, options.host, options.port)
    with Shown(launch, options.name, tell_key=tell_key, quiet=quiet) as watch:
        supervise(
            launch,
            watch,
            start_timeout_s=start_timeout_s,
            # The engine's own limit comes first; a little later the group is ended.
            grace_s=options.shutdown_timeout_s + 10,
        )
