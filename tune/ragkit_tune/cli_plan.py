"""`ragkit tune plan`: what a training run needs, what fits, and how long it takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ragkit_tune.cli_run import KeyOption, given_values, read_options

if TYPE_CHECKING:
    from ragkit_tune.plan.fit import Target
    from ragkit_tune.plan.make import Plan

_LEGEND: Final = (
    "full: all weights are trained; lora: small matrices beside them, the rest is frozen",
    "ddp: each card holds the whole model; zero1, zero2, zero3, fsdp: the cards share it",
    "c: with checkpointing, which saves memory for a third more time; no: not even one row",
)
KindArgument = Annotated[str, typer.Argument(help="embedder, reranker, adapter or reward.")]
BaseOption = Annotated[
    str | None,
    typer.Option(
        help="The model to train: a folder, or a name on the hub.  [default: the one in use]"
    ),
]
DataOption = Annotated[
    Path | None, typer.Option(help="Folder of rows that `ragkit tune data` made.")
]
RecipeOption = Annotated[Path | None, typer.Option(help="A recipe, TOML; options come first.")]
GpuOption = Annotated[
    str | None,
    typer.Option(help="Memory of one GPU as advertised, such as 24GB; auto asks nvidia-smi."),
]
RamOption = Annotated[
    str | None,
    typer.Option(help="Memory for training on a CPU, such as 16GB.  [default: this machine]"),
]
GpusOption = Annotated[
    int | None, typer.Option(min=1, max=1024, help="Number of GPUs.  [default: 1]")
]
ProbeOption = Annotated[
    bool, typer.Option("--probe", help="Train three steps here, and measure memory and time.")
]
SpeedOption = Annotated[
    float | None, typer.Option(min=0.001, help="Speed of one device in TFLOP/s, for the time.")
]
WattsOption = Annotated[float | None, typer.Option(min=0, help="Power of one device, for energy.")]
PriceOption = Annotated[
    float | None, typer.Option(min=0, help="Price of an hour of one device, for the cost.")
]
BitsOption = Annotated[
    int | None, typer.Option(help="16, 8 or 4: bits of frozen weights.  [default: 16]")
]
MethodOption = Annotated[
    str | None, typer.Option(metavar="sft|dpo|kto|grpo", help="How to train an adapter.")
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def plan(
    kind: KindArgument,
    base: BaseOption = None,
    data: DataOption = None,
    recipe: RecipeOption = None,
    gpu: GpuOption = None,
    ram: RamOption = None,
    gpus: GpusOption = None,
    method: MethodOption = None,
    bits: BitsOption = None,
    option: KeyOption = None,
    probe: ProbeOption = False,
    speed: SpeedOption = None,
    watts: WattsOption = None,
    price: PriceOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Say what a training run needs, how a step is made to fit, and how long the run takes.

    It takes the options of the command that trains. The model's config.json is enough, without its
    weights; --probe needs them. Ends with 1 when nothing fits.
    """
    from ragkit.cli.render import print_json
    from ragkit.settings.settings import load_settings
    from ragkit_tune.data.data_set import read_data_set
    from ragkit_tune.plan.make import make_plan
    from ragkit_tune.recipe import read_recipe

    settings = load_settings()
    values: dict[str, object] = {"base": base, "data": data and str(data), "gpus": gpus}
    values |= {"method": method, "bits": bits, **read_options(option)}
    chosen = read_recipe(recipe, **given_values(kind, settings, recipe, values)[0])
    result = make_plan(
        chosen,
        read_data_set(Path(chosen.data)),
        _target(gpu, ram, chosen.gpus),
        measure=probe,
        python=settings.tune_python,
        flop_per_s=speed and speed * 1e12,
        watts=watts,
        price=price,
        progress=lambda stage: typer.echo(stage, err=True),
    )
    if as_json:
        print_json(_json(result))
    else:
        _print(result)
    if result.choice is None:
        raise typer.Exit(1)


def _target(gpu: str | None, ram: str | None, gpus: int) -> Target | None:
    from ragkit.model_size.hardware import memory
    from ragkit_tune.plan.fit import Target

    if gpu is None and ram is None:
        return None
    on_gpu, memory_bytes = memory(gpu, ram, gpus=gpus)
    return Target(memory_bytes=memory_bytes, on_gpu=on_gpu, gpus=gpus)


def _print(result: Plan) -> None:
    from ragkit.cli.render import print_table
    from ragkit.text.printable import printable
    from ragkit_tune.plan.text import CARD_COLUMNS, STEP_COLUMNS, card_rows, plan_text, step_rows

    text = plan_text(result)
    if result.choice is None:
        text, _, remedy = text.rpartition("\n")
        typer.echo(printable(remedy), err=True)
    typer.echo(printable(text))
    if result.choice is not None and result.duration_s is None:
        typer.echo("  time: not known before a probe; add --probe (about a minute)")
    if result.choice is not None:
        typer.echo("")
        print_table(STEP_COLUMNS, step_rows(result), empty="")
    if not (result.target.on_gpu or result.target.gpus > 1):
        typer.echo("\nWhich graphics cards would do: add --gpu 24GB, or --gpus 2")
        return
    typer.echo("\nRows at once that fit a card; c: with checkpointing")
    print_table(CARD_COLUMNS, card_rows(result), empty="")
    typer.echo("")
    for line in _LEGEND:
        typer.echo(line)


def _json(result: Plan) -> dict[str, Any]:
    from dataclasses import asdict

    choice = result.choice
    return {
        "recipe": result.recipe.as_json(),
        "parameters": result.shape.parameters,
        "memory_bytes": result.target.memory_bytes,
        "usable_bytes": result.target.usable_bytes,
        "fits": choice is not None,
        "remedy": result.remedy,
        "step": None
        if choice is None
        else asdict(choice.memory) | {"peak_bytes": result.peak_bytes},
        "micro_batch": choice.micro_batch if choice else None,
        "accumulation": choice.accumulation if choice else None,
        "steps": result.steps,
        "step_tokens": result.step_tokens,
        "operations": result.operations,
        "flop_per_s": result.flop_per_s,
        "seconds": result.duration_s,
        "kilowatt_hours": result.cost.kilowatt_hours,
        "price": result.cost.price,
        "measured": asdict(result.measured) if result.measured else None,
        "scale": result.scale,
        "cards": [asdict(row) for row in result.cards],
        "notes": list(result.notes),
    }
