"""`ragkit model plan`: what fits on a machine, by a model's configuration, and how to serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from ragkit_models.plan.fit import Plan, Row, Target


_SERVED_EMBEDDER: Final = (
    "--embedder counts nothing: the embedding model runs at RAGKIT_EMBED_URL. If that server shares"
    " this memory, plan with what it leaves."
)

ModelArgument = Annotated[
    str, typer.Argument(help="A model's folder, its config.json, or its name on the hub.")
]
GpuOption = Annotated[
    str | None,
    typer.Option(help="Memory of one GPU as advertised, such as 24GB; auto asks nvidia-smi."),
]
RamOption = Annotated[
    str | None, typer.Option(help="Free memory for running on a CPU, such as 16GB.")
]
GpusOption = Annotated[
    int, typer.Option(min=1, max=1024, help="Number of GPUs that share the model.")
]
ContextOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=100_000_000,
        help="Tokens of prompt and answer together.  [default: 8192, or the model's limit]",
    ),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(min=1, max=100_000, help="Answers at once.  [default: 4; 1 with --ram]"),
]
QuantizationOption = Annotated[
    str | None,
    typer.Option(
        help="Only this quantization: bf16, awq, gptq, fp8, int8, "
        "compressed-tensors, bitsandbytes or gguf."
    ),
]
KvCacheDtypeOption = Annotated[str, typer.Option(help="auto or fp8.")]
GpuMemoryUtilizationOption = Annotated[
    float, typer.Option(min=0.05, max=1.0, help="Share of the memory for the engine.")
]
EmbedderOption = Annotated[
    bool, typer.Option("--embedder", help="Leave room for RAGKIT_EMBED_MODEL on the GPU.")
]
RerankerOption = Annotated[
    str | None, typer.Option(help="Leave room for this reranker: folder or hub name.")
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def plan(
    model: ModelArgument,
    gpu: GpuOption = None,
    ram: RamOption = None,
    gpus: GpusOption = 1,
    context: ContextOption = None,
    concurrency: ConcurrencyOption = None,
    quantization: QuantizationOption = None,
    kv_cache_dtype: KvCacheDtypeOption = "auto",
    gpu_memory_utilization: GpuMemoryUtilizationOption = 0.9,
    embedder: EmbedderOption = False,
    reranker: RerankerOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Say which quantizations of a model fit, how long a context they leave, and the command.

    No weights are downloaded: config.json is enough. Sizes are in GiB; a card sold with 24 GB has
    nearly 24 GiB. Ends with 1 when nothing fits.
    """
    from ragkit.cli.render import print_json
    from ragkit.model_size.hardware import memory
    from ragkit_models.plan.fit import Target

    on_gpu, memory_bytes = memory(gpu, ram, gpus=gpus)
    target = Target(
        memory_bytes=memory_bytes,
        gpus=gpus,
        on_gpu=on_gpu,
        context=context,
        concurrency=concurrency or (4 if on_gpu else 1),
        share=gpu_memory_utilization,
        fp8_cache=_is_fp8(kv_cache_dtype),
        others_bytes=_helpers_bytes(embedder=embedder, reranker=reranker, on_gpu=on_gpu),
        quantization=quantization,
    )
    result = _make_plan(model, target)
    if as_json:
        print_json(_json(model, result))
    else:
        _print(model, result)
    if result.best is None:
        raise typer.Exit(1)


def _helpers_bytes(*, embedder: bool, reranker: str | None, on_gpu: bool) -> int:
    """Return the bytes of the embedding model, the reranker and their process; 0 without both.

    An embedding model behind a server of its own takes none of ragkit's memory.
    """
    from ragkit.model_size.hardware import helpers_bytes, process_bytes
    from ragkit.settings.settings import load_settings

    models = [reranker] if reranker else []
    if embedder:
        settings = load_settings()
        if settings.embed_url is None:
            models.append(settings.embed_model)
        else:
            typer.echo(_SERVED_EMBEDDER, err=True)
    return sum(map(helpers_bytes, models)) + process_bytes(on_gpu=on_gpu) if models else 0


def _make_plan(model: str, target: Target) -> Plan:
    from ragkit.model_size.config import read_config, stored_bytes
    from ragkit_models.plan.fit import make_plan
    from ragkit_models.plan.scheme import stored_scheme

    config = read_config(model)
    files = stored_bytes(model) if stored_scheme(config) else None
    return make_plan(config, target, files_bytes=files)


def _is_fp8(name: str) -> bool:
    from ragkit.errors import UsageError

    if name not in {"auto", "fp8"}:
        raise UsageError(f"--kv-cache-dtype {name!r} is unknown: auto or fp8")
    return name == "fp8"


def _print(model: str, planned: Plan) -> None:
    from ragkit.cli.render import print_table
    from ragkit.text.printable import printable
    from ragkit_models.plan.commands import commands

    for line in _facts(model, planned):
        typer.echo(printable(line))
    typer.echo("")
    columns = ("weights in", "GiB", "KV cache", "working", "left", "fits", "longest", "needs")
    print_table(columns, [_cells(row) for row in planned.rows], empty="")
    typer.echo("")
    if planned.best is None:
        typer.echo(_advice(planned))
    if planned.best is None and planned.one_at_a_time:
        typer.echo("One answer at a time fits:")
    row = planned.best or planned.one_at_a_time
    lines = commands(model, row, planned) if row else ()
    if row and len(lines) > 1:
        typer.echo(_choice(row))
    for command in lines:
        typer.echo(printable(command))


def _choice(row: Row) -> str:
    """Say that a checkpoint is taken or made; a GGUF file has no configuration to plan by."""
    if row.scheme.llamacpp:
        return "Take a GGUF file that is ready, or make one with llama.cpp's source in DIR:"
    return f"Take {row.scheme.needs} that is ready, and plan for it; or make one:"


def _facts(model: str, planned: Plan) -> list[str]:
    target, size, cache = planned.target, planned.size, planned.cache
    lines = [f"{model}", f"  {size.parameters:,} parameters, {size.linear:,} in linear layers"]
    device = " on each GPU" if target.gpus > 1 else ""
    cache_size = f"{(cache.full + cache.windowed) / 1024:.4g} KiB a token{device}"
    if cache.windowed:
        cache_size += f", {cache.full / 1024:.4g} KiB beyond {cache.window:,} tokens"
    if cache.fixed:
        cache_size += f", and {cache.fixed / 2**20:.3g} MiB a sequence"
    lines.append(f"  KV cache: {cache_size}")
    if not planned.checked:
        lines.append(
            f"  by the general formula, never compared with a real one of {planned.architecture!r}"
        )
    gpus = f"{target.gpus} GPUs of " if target.gpus > 1 else ""
    lines.append(
        f"  memory: {gpus}{_gib(target.memory_bytes)} GiB, {planned.share:.0%} of it for the"
        f" engine; wanted: {target.concurrency} x {planned.context:,} tokens"
    )
    if target.others_bytes:
        lines.append(f"  embedding model and reranker: {_gib(target.others_bytes)} GiB")
    return lines


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.scheme.name,
        _gib(row.weights),
        _gib(row.cache),
        _gib(row.working),
        _gib(row.free),
        "yes" if row.fits else "no",
        f"{row.longest:,}",
        row.scheme.needs,
    )


def _advice(planned: Plan) -> str:
    target = planned.target
    if planned.longest == 0:
        return "Nothing fits: take more memory, more GPUs, or a smaller model."
    fp8 = "" if target.fp8_cache else ", or try --kv-cache-dtype fp8"
    return (
        f"Nothing fits so much. {target.concurrency} x {planned.longest:,} tokens do: lower"
        f" --context or --concurrency{fp8}."
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f}"


def _json(model: str, planned: Plan) -> dict[str, Any]:
    from ragkit_models.plan.commands import commands

    target, cache, best = planned.target, planned.cache, planned.best
    return {
        "model": model,
        "architecture": planned.architecture,
        "parameters": planned.size.parameters,
        "linear_parameters": planned.size.linear,
        "kv_cache_bytes_per_token": cache.full + cache.windowed,
        "kv_cache_bytes_per_sequence": cache.fixed,
        "kv_cache_window": cache.window,
        "kv_cache_checked": planned.checked,
        "memory_bytes": target.memory_bytes,
        "engine_share": planned.share,
        "others_bytes": target.others_bytes,
        "gpus": target.gpus,
        "context": planned.context,
        "concurrency": target.concurrency,
        "best": best.scheme.name if best else None,
        "schemes": [
            {
                "name": row.scheme.name,
                "weights_bytes": row.weights,
                "kv_cache_bytes": row.cache,
                "working_bytes": row.working,
                "free_bytes": row.free,
                "fits": row.fits,
                "longest_context": row.longest,
                "needs": row.scheme.needs,
                "commands": list(commands(model, row, planned)),
            }
            for row in planned.rows
        ],
    }
