"""`ragkit model plan`: what fits, by a model's configuration alone, and the command to serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ragkit_serve.model.plan.fit import Plan, Row


def plan(
    model: Annotated[
        str, typer.Argument(help="A model's folder, its config.json, or its name on the hub.")
    ],
    gpu: Annotated[
        str | None,
        typer.Option(help="Memory of one GPU as advertised, such as 24GB; auto asks nvidia-smi."),
    ] = None,
    ram: Annotated[
        str | None, typer.Option(help="Free memory for running on a CPU, such as 16GB.")
    ] = None,
    gpus: Annotated[
        int, typer.Option(min=1, max=1024, help="Number of GPUs that share the model.")
    ] = 1,
    context: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100_000_000,
            help="Tokens of prompt and answer together.  [default: 8192, or the model's limit]",
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help="Answers at once.  [default: 4; 1 with --ram]"),
    ] = None,
    quantization: Annotated[
        str | None,
        typer.Option(
            help="Only this quantization: bf16, awq, gptq, fp8, int8, "
            "compressed-tensors, bitsandbytes or gguf."
        ),
    ] = None,
    kv_cache_dtype: Annotated[str, typer.Option(help="auto or fp8.")] = "auto",
    gpu_memory_utilization: Annotated[
        float, typer.Option(min=0.05, max=1.0, help="Share of the memory for the engine.")
    ] = 0.9,
    embedder: Annotated[
        bool, typer.Option("--embedder", help="Leave room for RAGKIT_EMBED_MODEL on the GPU.")
    ] = False,
    reranker: Annotated[
        str | None, typer.Option(help="Leave room for this reranker: folder or hub name.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which quantizations of a model fit, how long a context they leave, and the command.

    No weights are downloaded: config.json is enough. Sizes are in GiB; a card sold with 24 GB has
    nearly 24 GiB. Ends with 1 when nothing fits.
    """
    from ragkit.render import print_json
    from ragkit.settings import load_settings
    from ragkit_serve.model.plan.config import read_config, stored_bytes
    from ragkit_serve.model.plan.fit import Wish, make_plan
    from ragkit_serve.model.plan.hardware import helpers_bytes, memory, process_bytes
    from ragkit_serve.model.plan.scheme import stored_scheme

    on_gpu, memory_bytes = memory(gpu, ram, gpus=gpus)
    helpers = [load_settings().embed_model] if embedder else []
    helpers += [reranker] if reranker else []
    others = sum(helpers_bytes(name) for name in helpers)
    wish = Wish(
        memory_bytes=memory_bytes,
        gpus=gpus,
        on_gpu=on_gpu,
        context=context,
        concurrency=concurrency or (4 if on_gpu else 1),
        share=gpu_memory_utilization,
        fp8_cache=_is_fp8(kv_cache_dtype),
        others_bytes=others + process_bytes(on_gpu=on_gpu) if helpers else 0,
        quantization=quantization,
    )
    config = read_config(model)
    files = stored_bytes(model) if stored_scheme(config) else None
    planned = make_plan(config, wish, files_bytes=files)
    if as_json:
        print_json(_json(model, planned))
    else:
        _print(model, planned)
    if planned.best is None:
        raise typer.Exit(1)


def _is_fp8(name: str) -> bool:
    from ragkit.errors import UsageError

    if name not in {"auto", "fp8"}:
        raise UsageError(f"--kv-cache-dtype {name!r} is unknown: auto or fp8")
    return name == "fp8"


def _print(model: str, planned: Plan) -> None:
    from ragkit.render import print_table, printable
    from ragkit_serve.model.plan.commands import commands

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
    wanted = commands(model, row, planned) if row else ()
    if row and len(wanted) > 1:
        typer.echo(f"Take {row.scheme.needs} that is ready, and plan for it; or make one:")
    for command in wanted:
        typer.echo(printable(command))


def _facts(model: str, planned: Plan) -> list[str]:
    wish, size, cache = planned.wish, planned.size, planned.cache
    lines = [f"{model}", f"  {size.parameters:,} parameters, {size.linear:,} in linear layers"]
    each = " on each GPU" if wish.gpus > 1 else ""
    kept = f"{(cache.full + cache.windowed) / 1024:.4g} KiB a token{each}"
    if cache.windowed:
        kept += f", {cache.full / 1024:.4g} KiB beyond {cache.window:,} tokens"
    if cache.fixed:
        kept += f", and {cache.fixed / 2**20:.3g} MiB a sequence"
    lines.append(f"  KV cache: {kept}")
    if not planned.checked:
        lines.append(
            f"  by the general formula, never compared with a real one of {planned.architecture!r}"
        )
    gpus = f"{wish.gpus} GPUs of " if wish.gpus > 1 else ""
    lines.append(
        f"  memory: {gpus}{_gib(wish.memory_bytes)} GiB, {planned.share:.0%} of it for the engine;"
        f" wanted: {wish.concurrency} x {planned.context:,} tokens"
    )
    if wish.others_bytes:
        lines.append(f"  embedding model and reranker: {_gib(wish.others_bytes)} GiB")
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
    wish = planned.wish
    if planned.longest == 0:
        return "Nothing fits: take more memory, more GPUs, or a smaller model."
    fp8 = "" if wish.fp8_cache else ", or try --kv-cache-dtype fp8"
    return (
        f"Nothing fits so much. {wish.concurrency} x {planned.longest:,} tokens do: lower --context"
        f" or --concurrency{fp8}."
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f}"


def _json(model: str, planned: Plan) -> dict[str, Any]:
    from ragkit_serve.model.plan.commands import commands

    wish, cache, best = planned.wish, planned.cache, planned.best
    return {
        "model": model,
        "architecture": planned.architecture,
        "parameters": planned.size.parameters,
        "linear_parameters": planned.size.linear,
        "kv_cache_bytes_per_token": cache.full + cache.windowed,
        "kv_cache_bytes_per_sequence": cache.fixed,
        "kv_cache_window": cache.window,
        "kv_cache_checked": planned.checked,
        "memory_bytes": wish.memory_bytes,
        "engine_share": planned.share,
        "others_bytes": wish.others_bytes,
        "gpus": wish.gpus,
        "context": planned.context,
        "concurrency": wish.concurrency,
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
