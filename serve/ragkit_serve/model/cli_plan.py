"""`ragkit model plan`: what fits, by a model's configuration alone, and the command to serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ragkit_serve.model.plan.fit import Plan, Row, Wish


def plan(
    model: Annotated[
        str, typer.Argument(help="A model's folder, its config.json, or its name on the hub.")
    ],
    gpu: Annotated[
        str | None,
        typer.Option(help="Memory of one GPU as it is sold: 24GB. auto asks nvidia-smi."),
    ] = None,
    ram: Annotated[
        str | None, typer.Option(help="Plan for a processor with so much free memory: 16GB.")
    ] = None,
    gpus: Annotated[int, typer.Option(min=1, help="Such GPUs, sharing the model.")] = 1,
    context: Annotated[
        int, typer.Option(min=1, help="Tokens of prompt and answer together.")
    ] = 8192,
    concurrency: Annotated[int, typer.Option(min=1, help="Answers at once.")] = 4,
    kv_cache_dtype: Annotated[str, typer.Option(help="auto or fp8.")] = "auto",
    gpu_memory_utilization: Annotated[float, typer.Option(min=0.05, max=1.0)] = 0.9,
    embedder: Annotated[
        bool,
        typer.Option("--embedder", help="Leave room on the GPU for RAGKIT_EMBED_MODEL."),
    ] = False,
    reranker: Annotated[
        str | None, typer.Option(help="Leave room for this reranker: folder or hub name.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which quantizations of a model fit, how long a context they leave, and the command.

    No weights are downloaded: config.json is enough.
    """
    from ragkit.render import print_json
    from ragkit.settings import load_settings
    from ragkit_serve.model.plan.config import read_config
    from ragkit_serve.model.plan.fit import Wish, make_plan
    from ragkit_serve.model.plan.hardware import helpers_bytes, memory

    helpers = [load_settings().embed_model] if embedder else []
    helpers += [reranker] if reranker else []
    on_gpu, memory_bytes = memory(gpu, ram)
    wish = Wish(
        memory_bytes=memory_bytes,
        gpus=gpus,
        context=context,
        concurrency=concurrency,
        share=gpu_memory_utilization if on_gpu else 0.9,
        fp8_cache=_is_fp8(kv_cache_dtype),
        others_bytes=sum(helpers_bytes(name) for name in helpers),
    )
    planned = make_plan(read_config(model), wish)
    if as_json:
        print_json(_json(model, planned, wish))
    else:
        _print(model, planned, wish, on_gpu=on_gpu)
    if not any(row.fits for row in planned.rows):
        raise typer.Exit(1)


def _is_fp8(name: str) -> bool:
    from ragkit.errors import UsageError

    if name not in {"auto", "fp8"}:
        raise UsageError(f"--kv-cache-dtype {name!r} is unknown: auto or fp8")
    return name == "fp8"


def _print(model: str, planned: Plan, wish: Wish, *, on_gpu: bool) -> None:
    from ragkit.render import print_table

    size, each = planned.size, f" on each of {wish.gpus} GPUs" if wish.gpus > 1 else ""
    typer.echo(f"{model}: {size.parameters:,} parameters, {size.linear:,} in linear layers")
    typer.echo(
        f"KV cache: {planned.cache_token_bytes / 1024:.0f} KiB a token. Memory{each}:"
        f" {wish.memory_bytes / 2**30:.1f} GiB, {wish.share:.0%} of it for the engine."
        f" Wanted: {wish.concurrency} x {wish.context:,} tokens."
    )
    if wish.others_bytes:
        typer.echo(f"Embedding model and reranker: {_gib(wish.others_bytes)} GiB")
    typer.echo("")
    columns = ("weights in", "GiB", "KV cache", "working", "left", "fits", "longest", "needs")
    print_table(columns, [_cells(row) for row in planned.rows], empty="")
    best = next((row for row in planned.rows if row.fits), None)
    typer.echo("")
    if best is None:
        typer.echo(_advice(planned, wish))
    else:
        typer.echo(command(model, best, wish, on_gpu=on_gpu, stored=bool(planned.quantized)))


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


def command(model: str, row: Row, wish: Wish, *, on_gpu: bool, stored: bool) -> str:
    """Write the command that serves the row's quantization as it was planned."""
    parts = ["ragkit model serve", model, f"--max-model-len {wish.context}"]
    if row.scheme.name.startswith("gguf"):
        return " ".join([*parts[:1], "FILE.gguf --engine llamacpp", *parts[2:]])
    parts.append(f"--max-num-seqs {wish.concurrency}")
    if row.scheme.name != "bf16" and not stored:
        parts.append(f"--quantization {row.scheme.name}")
    if wish.fp8_cache:
        parts.append("--kv-cache-dtype fp8")
    if on_gpu:
        parts.append(f"--gpu-memory-utilization {wish.share:g}")
    else:
        cache_gib = -(-row.cache // 2**30)
        parts.append(f"--cpu-kv-cache-gib {max(1, cache_gib)}")
    if wish.gpus > 1:
        parts.append(f"--tensor-parallel-size {wish.gpus}")
    return " ".join(parts)


def _advice(planned: Plan, wish: Wish) -> str:
    longest = max(row.longest for row in planned.rows)
    if longest == 0:
        return "Nothing fits: take more memory, more GPUs, or a smaller model."
    return (
        f"Nothing fits so much. {wish.concurrency} x {longest:,} tokens do: lower --context or"
        " --concurrency, or try --kv-cache-dtype fp8."
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f}"


def _json(model: str, planned: Plan, wish: Wish) -> dict[str, Any]:
    return {
        "model": model,
        "parameters": planned.size.parameters,
        "linear_parameters": planned.size.linear,
        "quantized": planned.quantized,
        "kv_cache_bytes_per_token": planned.cache_token_bytes,
        "memory_bytes": wish.memory_bytes,
        "gpus": wish.gpus,
        "context": wish.context,
        "concurrency": wish.concurrency,
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
            }
            for row in planned.rows
        ],
    }
